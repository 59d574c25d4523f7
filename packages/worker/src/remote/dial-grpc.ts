/** Opens the stream of a worker over gRPC: HTTP/2, in clear or under TLS, with the key in the header. */
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { FRAME_BYTES_MAX, WorkerService } from '../protocol/index.ts';
import type { Dial } from './remote-home.ts';
import { readTlsFiles, type TlsFiles } from './tls-files.ts';

export function dialGrpc({ key, tls = {} }: { key: string; tls?: TlsFiles | undefined }): Dial {
  return async function* (server, requests, signal) {
    // Read each time: certificates of workers are renewed often.
    const nodeOptions = readTlsFiles(tls);
    // Of this stream alone, and closed with it: what a shared one keeps open would add up while a server breaks every dial.
    const sessionManager = new Http2SessionManager(server, {}, nodeOptions);
    const transport = createGrpcTransport({
      baseUrl: server,
      readMaxBytes: FRAME_BYTES_MAX,
      writeMaxBytes: FRAME_BYTES_MAX,
      nodeOptions,
      sessionManager,
    });
    const headers = { authorization: `Bearer ${key}` };
    try {
      yield* createClient(WorkerService, transport).session(requests, { signal, headers });
    } finally {
      sessionManager.abort();
    }
  };
}

const REFUSALS: ReadonlySet<Code> = new Set([
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.Unimplemented,
]);

export function isRefused(error: unknown): boolean {
  return error instanceof ConnectError && REFUSALS.has(error.code);
}
