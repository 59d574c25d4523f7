/**
 * Browsers send cookies along whoever wrote the page. What changes something by cookie must therefore come from a page of
 * ours, as the browser itself tells, and carry the token that only such a page can have read.
 */
import { Refusal } from '@carillon/domain';
import type { FastifyRequest } from 'fastify';
import { csrfTokenOf, sameSecret } from '../../accounts/secrets.ts';

const CHANGES_NOTHING = new Set(['GET', 'HEAD', 'OPTIONS']);

export function requireCsrfToken(request: FastifyRequest, sessionToken: string, address: string): void {
  if (CHANGES_NOTHING.has(request.method)) return;
  requireOwnPage(request, address);
  const given = request.headers['x-csrf-token'];
  if (typeof given === 'string' && sameSecret(given, csrfTokenOf(sessionToken))) return;
  const message =
    given === undefined ? 'X-CSRF-Token is missing.' : 'X-CSRF-Token is not that of the session.';
  throw new Refusal('csrf_rejected', message, { field: 'X-CSRF-Token' });
}

/** Programs send neither header, and are let through. */
export function requireOwnPage(request: FastifyRequest, address: string): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const foreign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isOwn(origin, request, address));
  if (foreign) throw new Refusal('csrf_rejected', 'The request comes from a page of another site.');
}

function isOwn(origin: string, request: FastifyRequest, address: string): boolean {
  if (!URL.canParse(origin)) return false;
  if (address !== '' && new URL(address).origin === new URL(origin).origin) return true;
  return new URL(origin).host === request.host;
}
