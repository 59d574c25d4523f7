/** Opens the stream of a worker over gRPC: HTTP/2, in clear or under TLS, with the key in the header. */
import { readFileSync } from 'node:fs';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { FRAME_BYTES_MAX, WorkerService } from '../protocol/index.ts';
import type { Dial } from './remote-home.ts';

export interface TlsFiles {
  /** Certificates that the server's is signed by. Left out: those that the system trusts. */
  readonly caFile?: string;
  /** The worker's own, where the server asks for one. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

export function dialGrpc({ key, tls = {} }: { key: string; tls?: TlsFiles | undefined }): Dial {
  return (server, requests, signal) => {
    const transport = createGrpcTransport({
      baseUrl: server,
      readMaxBytes: FRAME_BYTES_MAX,
      writeMaxBytes: FRAME_BYTES_MAX,
      nodeOptions: tlsOptions(tls),
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

function tlsOptions({ caFile, certFile, keyFile }: TlsFiles) {
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(certFile !== undefined && { cert: readFileSync(certFile) }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
  };
}
