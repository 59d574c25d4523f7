/**
 * The key in the server's own folder: whoever can read it may do everything. Hashes are compared, in constant time:
 * neither the length nor the first wrong character of a guess can be measured.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Caller, Refusal, WHOLE } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';

export type Authenticate = (request: FastifyRequest) => Promise<Caller>;

export function adminKeyCheck(adminKey: string): Authenticate {
  if (adminKey === '') throw new Error('an empty admin key would let everybody in');
  const expected = digest(adminKey);
  return async (request) => {
    const given = bearerOf(request);
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return adminOf(request);
    const message = given === undefined ? 'The request carries no key.' : 'The key is not valid.';
    throw new Refusal('unauthorized', message);
  };
}

export function bearerOf(request: FastifyRequest): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

function adminOf(request: FastifyRequest): Caller {
  return {
    kind: 'key',
    id: 'admin',
    name: 'admin key',
    userId: undefined,
    grants: [{ namespace: WHOLE, role: 'admin', ownOnly: false }],
    scopes: undefined,
    origin: {
      address: request.ip,
      userAgent: request.headers['user-agent']?.slice(0, 200),
      requestId: request.id,
    },
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
