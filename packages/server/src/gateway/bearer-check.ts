/**
 * Lets only holders of the key in. Hashes are compared, in constant time: neither the length nor the first wrong character
 * of a guess can be measured.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Refusal } from '@carillon/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';

export function bearerCheck(
  adminKey: string,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  if (adminKey === '') throw new Error('an empty admin key would let everybody in');
  const expected = digest(adminKey);
  return async (request, reply) => {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    if (given !== undefined && timingSafeEqual(digest(given), expected)) return;
    reply.header('www-authenticate', 'Bearer realm="carillon"');
    const message = given === undefined ? 'The request carries no key.' : 'The key is not valid.';
    throw new Refusal('unauthorized', message);
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
