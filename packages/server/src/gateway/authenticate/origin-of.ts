/** Where a request came from, as the audit log tells it. */
import type { Origin } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';

const USER_AGENT_LENGTH_MAX = 200;

export function originOf(request: Pick<FastifyRequest, 'ip' | 'headers' | 'id'>): Origin {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX),
    requestId: request.id,
  };
}
