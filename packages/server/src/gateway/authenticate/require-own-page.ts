/**
 * Protection against cross-site requests: browsers send cookies whichever site the page came from. A change authenticated by
 * cookie must therefore come from our own origin, as the browser reports it, and carry the CSRF token.
 */
import { Refusal } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';
import { csrfTokenOf, sameSecret } from '../../accounts/secrets.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export function requireCsrfToken(request: FastifyRequest, sessionToken: string, address: string): void {
  if (SAFE_METHODS.has(request.method)) return;
  requireOwnPage(request, address);
  const given = request.headers['x-csrf-token'];
  if (typeof given === 'string' && sameSecret(given, csrfTokenOf(sessionToken))) return;
  const message =
    given === undefined ? 'X-CSRF-Token is missing.' : 'X-CSRF-Token is not that of the session.';
  throw new Refusal('csrf_rejected', message, { field: 'X-CSRF-Token' });
}

/** Programs send neither header, and pass. */
export function requireOwnPage(request: FastifyRequest, address: string): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isOwn(origin, request, address));
  if (isForeign) throw new Refusal('csrf_rejected', 'The request comes from a page of another site.');
}

function isOwn(origin: string, request: FastifyRequest, address: string): boolean {
  if (!URL.canParse(origin)) return false;
  if (address !== '' && new URL(address).origin === new URL(origin).origin) return true;
  return new URL(origin).host === request.host;
}
