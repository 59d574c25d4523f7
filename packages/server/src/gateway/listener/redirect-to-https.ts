/**
 * Answers everything on the port for plain HTTP with the same address under https, and nothing else. A request that carries a
 * credential is refused: it was readable on the way, and a client that is redirected would go on sending it there.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROBLEM_TYPE, problemOf } from '@carillon/contract';
import { Refusal } from '@carillon/domain';

export interface RedirectOptions {
  readonly host: string;
  readonly port: number;
  /** The target: the public URL when it is set, else the requested host name with this port. */
  readonly onCredential?: ((facts: CredentialSeen) => void) | undefined;
  readonly to: { readonly publicUrl: string | undefined; readonly port: number };
}

/** A credential that was sent in clear. */
export interface CredentialSeen {
  readonly kind: 'key' | 'password' | 'session';
  /** Of an API key: the part that is no secret. */
  readonly keyPrefix: string | undefined;
  readonly address: string | undefined;
}

/** A name or an address with an optional port; anything else is not reflected. */
const HOST = /^([\w.-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(:\d{1,5})?$/;
const REQUEST_MS_MAX = 10_000;
const CONNECTIONS_MAX = 500;

export interface Redirect {
  readonly port: number;
  close(): Promise<void>;
}

export async function redirectToHttps({ host, port, to, onCredential }: RedirectOptions): Promise<Redirect> {
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX, keepAliveTimeout: 1 },
    (request, response) => {
      const target = originOf(request.headers.host, to);
      const path = request.url?.startsWith('/') ? request.url : '/';
      response.setHeader('connection', 'close');
      const seen = credentialIn(request);
      if (seen) {
        onCredential?.(seen);
        refuseCredential(response, seen);
      } else if (target === undefined) response.writeHead(400).end();
      else response.writeHead(308, { location: `${target}${path}` }).end();
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await listening(server, { host, port });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function credentialIn({ headers, socket }: IncomingMessage): CredentialSeen | undefined {
  const address = socket.remoteAddress;
  const { authorization = '', cookie = '' } = headers;
  if (/^basic /i.test(authorization)) return { kind: 'password', keyPrefix: undefined, address };
  if (authorization !== '') {
    return { kind: 'key', keyPrefix: /\b(ck2?_[a-z0-9]+)_/i.exec(authorization)?.[1], address };
  }
  return /carillon_session(_\d+)?=/.test(cookie)
    ? { kind: 'session', keyPrefix: undefined, address }
    : undefined;
}

function refuseCredential(response: ServerResponse, { kind }: CredentialSeen): void {
  const message = `The request carried a ${kind} in clear, where others could read it; it was not passed on.`;
  const problem = problemOf(new Refusal('credential_in_clear', message), randomUUID());
  response.writeHead(problem.status, { 'content-type': PROBLEM_TYPE }).end(JSON.stringify(problem));
}

export function originOf(requestedHost: string | undefined, to: RedirectOptions['to']): string | undefined {
  if (to.publicUrl !== undefined) return to.publicUrl.replace(/\/+$/, '');
  const name = HOST.exec(requestedHost ?? '')?.[1];
  if (name === undefined) return undefined;
  return `https://${name}${to.port === 443 ? '' : `:${to.port}`}`;
}

function listening(server: Server, where: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(where, () => resolve());
  });
}
