/** Answers everything on the port for plain HTTP with the same address under https, and nothing else. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RedirectOptions {
  readonly host: string;
  readonly port: number;
  /** The target: the public URL when it is set, else the requested host name with this port. */
  readonly to: { readonly publicUrl: string | undefined; readonly port: number };
}

/** A name or an address with an optional port; anything else is not reflected. */
const HOST = /^([\w.-]{1,255}|\[[0-9a-fA-F:.]{2,45}\])(:\d{1,5})?$/;
const REQUEST_MS_MAX = 10_000;

export interface Redirect {
  readonly port: number;
  close(): Promise<void>;
}

export async function redirectToHttps({ host, port, to }: RedirectOptions): Promise<Redirect> {
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, keepAliveTimeout: 1 },
    (request, response) => {
      const target = originOf(request.headers.host, to);
      const path = request.url?.startsWith('/') ? request.url : '/';
      response.setHeader('connection', 'close');
      if (target === undefined) response.writeHead(400).end();
      else response.writeHead(308, { location: `${target}${path}` }).end();
    },
  );
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
