/**
 * The session cookie: no script can read it, other sites cannot send it with a POST, and over TLS it is sent over TLS only.
 * There its name begins with __Host-, so that no neighbouring host can set one.
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
  return hostCookie('carillon_session', address);
}

/** address: the public URL; a proxy may terminate TLS before the gateway. */
export function hostCookie(plainName: string, address: string): SessionCookie {
  const secureName = `__Host-${plainName}`;
  const isSecure = (request: FastifyRequest) => request.protocol === 'https' || address.startsWith('https:');
  const cookie = (request: FastifyRequest, value: string, maxAgeSeconds: number) => {
    const secure = isSecure(request);
    const head = `${secure ? secureName : plainName}=${value}`;
    const rest = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}`;
    return `${head}; ${rest}${secure ? '; Secure' : ''}`;
  };
  return {
    read: (request) => cookieNamed(request.headers.cookie, isSecure(request) ? secureName : plainName),
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
