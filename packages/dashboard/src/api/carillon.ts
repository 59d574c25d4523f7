/**
 * The client of this page: the same server, the session in a cookie that no script can read, and the token that changes must
 * carry. The token lives in memory alone; it is read anew with the session.
 */
import { Carillon, CarillonError } from '@carillon/client';

/** Where the page is served, with a trailing slash: the server writes it into the document. */
export const BASE_URL = new URL('.', document.baseURI);

/** What the server names as its own: whole where it knows its address, else a path below where the page is served. */
export function serverUrl(given: string): URL {
  return new URL(given.startsWith('/') ? `.${given}` : given, BASE_URL);
}

let csrfToken: string | undefined;

export function setCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

export const carillon = new Carillon({
  url: BASE_URL.href.replace(/\/$/, ''),
  retriesMax: 2,
  fetch: (input, init) => {
    const headers = new Headers(init?.headers);
    if (csrfToken !== undefined && init?.method !== 'GET') headers.set('x-csrf-token', csrfToken);
    return fetch(input, { ...init, headers, credentials: 'same-origin' });
  },
});

export function isSignedOut(error: unknown): boolean {
  return error instanceof CarillonError && error.status === 401;
}
