/** Opens the stream of a worker over gRPC: HTTP/2, in clear or under TLS, with the key in the header. */
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { FRAME_BYTES_MAX, WorkerService } from '../protocol/index.ts';
import type { Dial } from './remote-home.ts';
import { readTlsFiles, type TlsFiles } from './tls-files.ts';

export function dialGrpc({ key, tls = {} }: { key: string; tls?: TlsFiles | undefined }): Dial {
  return (server, requests, signal) => {
    // Read each time: certificates of workers are renewed often.
    const transport = createGrpcTransport({
      baseUrl: server,
      readMaxBytes: FRAME_BYTES_MAX,
      writeMaxBytes: FRAME_BYTES_MAX,
      nodeOptions: readTlsFiles(tls),
    });
    const headers = { authorization: `Bearer ${key}` };
    return createClient(WorkerService, transport).session(requests, { signal, headers });
  };
}

export function isKeyRefused(error: unknown): boolean {
  return (
    error instanceof ConnectError &&
    (error.code === Code.Unauthenticated || error.code === Code.PermissionDenied)
  );
}
