/** Signing in and out, and who one is. The token of a session travels in a cookie that no script can read. */
import {
  ACCOUNT_EXAMPLES,
  callerAnswer,
  callerView,
  readId,
  SESSIONS_QUERY,
  SIGN_IN_BODY,
  sessionAnswer,
  sessionView,
  signedInAnswer,
  userView,
} from '@carillon/contract';
import { stranger } from '@carillon/domain';
import { z } from 'zod';
import { csrfTokenOf } from '../../accounts/secrets.ts';
import { originOf } from '../authenticate/create-authenticate.ts';
import { requireOwnPage } from '../authenticate/require-own-page.ts';
import { sessionCookie } from '../authenticate/session-cookie.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function sessionEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  const cookie = sessionCookie(address);
  return [
    endpoint({
      method: 'POST',
      path: '/session',
      access: 'open',
      tag: 'sessions',
      summary: 'Sign in',
      description: 'Sets a cookie. What changes something with it must carry csrf_token in X-CSRF-Token.',
      body: SIGN_IN_BODY,
      bodyExamples: { ada: ACCOUNT_EXAMPLES.signInBody },
      answers: {
        201: { description: 'Signed in.', schema: signedInAnswer, example: ACCOUNT_EXAMPLES.signedIn },
      },
      handle: async ({ body, request, reply }) => {
        // Otherwise a foreign page could sign its visitor in as somebody else.
        requireOwnPage(request, address);
        const { user, session, token } = await operations.signIn(stranger(originOf(request)), body);
        const { createdAtMs, expiresAtMs } = session;
        const maxAgeSeconds = Math.floor((expiresAtMs - createdAtMs) / 1_000);
        reply.code(201).header('set-cookie', cookie.write(request, token, maxAgeSeconds));
        return {
          user: userView(user),
          csrf_token: csrfTokenOf(token),
          expires_at: new Date(expiresAtMs).toISOString(),
        };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/session',
      access: 'self',
      tag: 'sessions',
      summary: 'Who am I',
      description: 'With a key as well.',
      answers: {
        200: { description: 'The caller.', schema: callerAnswer, example: ACCOUNT_EXAMPLES.caller },
      },
      handle: async ({ caller, request }) => {
        const token = caller.kind === 'user' ? cookie.read(request) : undefined;
        const session = token === undefined ? undefined : await operations.getSession(caller, token);
        return callerView(
          caller,
          token === undefined || session === undefined
            ? undefined
            : { csrfToken: csrfTokenOf(token), expiresAtMs: session.expiresAtMs },
        );
      },
    }),

    endpoint({
      method: 'DELETE',
      path: '/session',
      access: 'self',
      tag: 'sessions',
      summary: 'Sign out',
      answers: { 204: { description: 'Signed out.' } },
      handle: async ({ caller, request, reply }) => {
        const token = cookie.read(request);
        if (token !== undefined && caller.kind === 'user') await operations.signOut(caller, token);
        reply.code(204).header('set-cookie', cookie.clear(request));
      },
    }),

    endpoint({
      method: 'GET',
      path: '/sessions',
      access: 'self',
      tag: 'sessions',
      summary: 'List your sessions, newest first',
      description: 'Those of another user with users.read.',
      query: SESSIONS_QUERY,
      answers: {
        200: {
          description: 'The sessions that have not ended.',
          schema: z.array(sessionAnswer),
          example: [ACCOUNT_EXAMPLES.session],
        },
      },
      handle: async ({ caller, query }) =>
        (await operations.listSessions(caller, { userId: query.user_id })).map(sessionView),
    }),

    endpoint({
      method: 'DELETE',
      path: '/sessions/{id}',
      access: 'self',
      tag: 'sessions',
      summary: 'End a session',
      description: 'Your own; those of others with users.manage.',
      params: { id: 'The session_id.' },
      answers: { 204: { description: 'Ended.' } },
      handle: async ({ caller, params, reply }) => {
        await operations.revokeSession(caller, readId(params.id!, 'session'));
        reply.code(204);
      },
    }),
  ];
}
