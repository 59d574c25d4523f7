/**
 * The session cookie: no script can read it, no request that another site caused carries it, and over TLS it is sent over TLS only.
 * There its name begins with __Host-, so that no neighbouring host can set one. Without TLS browsers send a cookie to every port of a
 * host: its name has the port, so that several servers on one host do not overwrite each other's, and its path is that of the public URL.
 */
import type { FastifyRequest } from 'fastify';

export interface SessionCookie {
  /** Its value, such as the session token; undefined when the request has none. */
  read(request: FastifyRequest): string | undefined;
  /** For Set-Cookie. */
  write(request: FastifyRequest, token: string, maxAgeSeconds: number): string;
  clear(request: FastifyRequest): string;
}

export function sessionCookie(address: string): SessionCookie {
  return hostCookie('carillon_session', address, 'Strict');
}

/**
 * address: the public URL; a proxy may terminate TLS before the gateway. sameSite: Lax for what must come along when another site leads
 * back here.
 */
export function hostCookie(name: string, address: string, sameSite: 'Strict' | 'Lax'): SessionCookie {
  const secureName = `__Host-${name}`;
  const publicUrl = address === '' ? undefined : new URL(address);
  const path = publicUrl?.pathname.replace(/\/+$/, '') || '/';
  const plainName = (request: FastifyRequest) => {
    const port = publicUrl ? publicUrl.port : (/:(\d+)$/.exec(request.host)?.[1] ?? '');
    return port === '' || port === '80' ? name : `${name}_${port}`;
  };
  const isSecure = (request: FastifyRequest) => request.protocol === 'https' || address.startsWith('https:');
  const cookie = (request: FastifyRequest, value: string, maxAgeSeconds: number) => {
    const secure = isSecure(request);
    const head = `${secure ? secureName : plainName(request)}=${value}`;
    // The prefix asks for this path.
    const rest = `Path=${secure ? '/' : path}; HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeSeconds}`;
    return `${head}; ${rest}${secure ? '; Secure' : ''}`;
  };
  return {
    read: (request) =>
      cookieNamed(request.headers.cookie, isSecure(request) ? secureName : plainName(request)),
    write: cookie,
    clear: (request) => cookie(request, '', 0),
  };
}

function cookieNamed(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const pair of header.split(';')) {
    const cut = pair.indexOf('=');
    if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim();
  }
  return undefined;
}
