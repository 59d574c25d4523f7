/**
 * Signing in and out, and who the caller is. Exceptions: the token of a session travels in a cookie that no script can read, which
 * RPC has no use for.
 */
import {
  ACCOUNT_EXAMPLES,
  callerAnswer,
  callerView,
  rpc,
  SESSIONS_QUERY,
  SIGN_IN_BODY,
  type SignInInput,
  sessionAnswer,
  sessionMethodsAnswer,
  sessionView,
  signedInAnswer,
  toSessionsQuery,
  toSignIn,
  userView,
} from '@carillon/contract';
import { type Caller, may, stranger } from '@carillon/domain';
import { z } from 'zod';
import { csrfTokenOf, hashSecret } from '../../accounts/secrets.ts';
import { originOf } from '../authenticate/create-authenticate.ts';
import { requireOwnPage } from '../authenticate/require-own-page.ts';
import { sessionCookie } from '../authenticate/session-cookie.ts';
import {
  type ApiContext,
  listReply,
  type Operation,
  operation,
  reading,
  readLimit,
  restOperation,
} from './operation.ts';

const { method: call } = rpc.AccountService;
const FOR_BROWSERS = 'for browsers; programs send a key';

export function sessionOperations(context: ApiContext): Operation[] {
  const { operations, address, isAdminKey, oidc } = context;
  // It names a folder of the server.
  const commandFlags = (caller: Caller) =>
    may(caller, 'users.manage') ? context.commandFlags?.() : undefined;
  const cookie = sessionCookie(address);
  const open = (caller: Caller, given: SignInInput) => {
    switch (given.way) {
      case 'ticket':
        return operations.signInWithTicket(caller, given);
      case 'key':
        return operations.signInWithAdminKey(caller, { ...given, isAdminKey });
      default:
        return operations.signIn(caller, given);
    }
  };
  return [
    restOperation({
      method: 'POST',
      path: '/session',
      restOnly: FOR_BROWSERS,
      access: 'open',
      tag: 'sessions',
      summary: 'Sign in',
      description: [
        'With the name and password of a user, with the one-time ticket of the link that the server printed, or with its admin key.',
        'Sets a cookie. What changes something with it must carry csrf_token in X-CSRF-Token.',
        'A session whose cookie the request carries ends.',
        'A session of a ticket or of the admin key belongs to nobody, may everything, and lasts at most 12 hours.',
      ].join(' '),
      body: reading(SIGN_IN_BODY, toSignIn),
      bodyExamples: {
        ada: ACCOUNT_EXAMPLES.signInBody,
        ticket: ACCOUNT_EXAMPLES.ticketBody,
        'admin key': ACCOUNT_EXAMPLES.adminKeyBody,
      },
      answers: {
        201: { description: 'Signed in.', schema: signedInAnswer, example: ACCOUNT_EXAMPLES.signedIn },
      },
      handle: async ({ body, request }) => {
        // Otherwise a foreign page could sign its visitor in as somebody else.
        requireOwnPage(request, address);
        const caller = stranger(originOf(request));
        const { user, session, token } = await open(caller, body);
        const former = cookie.read(request);
        if (former !== undefined) await operations.leaveFormerSession(caller, hashSecret(former));
        const { createdAtMs, expiresAtMs } = session;
        const maxAgeSeconds = Math.floor((expiresAtMs - createdAtMs) / 1_000);
        return {
          status: 201,
          headers: { 'set-cookie': cookie.write(request, token, maxAgeSeconds) },
          body: {
            user: user ? userView(user) : null,
            csrf_token: csrfTokenOf(token),
            expires_at: new Date(expiresAtMs).toISOString(),
          },
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/session',
      calls: [call.getCaller],
      access: 'self',
      tag: 'sessions',
      summary: 'Who am I',
      description: 'With a key as well.',
      answers: {
        200: { description: 'The caller.', schema: callerAnswer, example: ACCOUNT_EXAMPLES.caller },
      },
      handle: async ({ caller, session: tokenOf }) => {
        const token = caller.credential?.kind === 'session' ? tokenOf() : undefined;
        if (token === undefined) return { body: callerView(caller, undefined, commandFlags(caller)) };
        const session = await operations.getSession(caller, token);
        return {
          body: callerView(
            caller,
            session && {
              csrfToken: csrfTokenOf(token),
              expiresAtMs: session.expiresAtMs,
              method: session.method,
            },
            commandFlags(caller),
          ),
        };
      },
    }),

    restOperation({
      method: 'DELETE',
      path: '/session',
      restOnly: FOR_BROWSERS,
      access: 'self',
      tag: 'sessions',
      summary: 'Sign out',
      answers: { 204: { description: 'Signed out.' } },
      handle: async ({ caller, request, session }) => {
        const token = session();
        if (token !== undefined && caller.credential?.kind === 'session')
          await operations.signOut(caller, token);
        return { status: 204, headers: { 'set-cookie': cookie.clear(request) } };
      },
    }),

    restOperation({
      method: 'GET',
      path: '/session/methods',
      restOnly: FOR_BROWSERS,
      access: 'open',
      tag: 'sessions',
      summary: 'How one can sign in here',
      answers: {
        200: {
          description: 'The ways that this server offers.',
          schema: sessionMethodsAnswer,
          example: ACCOUNT_EXAMPLES.signInMethods,
        },
      },
      handle: async () => ({
        body: {
          ...{ password: true, ticket: true, key: true },
          oidc: oidc
            ? {
                label: oidc.label,
                start_url: `${address}/api/oidc/start`,
                logout_url: `${address}/api/oidc/logout`,
              }
            : null,
        },
      }),
    }),

    operation({
      method: 'GET',
      path: '/sessions',
      rpc: { method: call.listSessions },
      access: 'self',
      tag: 'sessions',
      summary: 'List your sessions, newest first',
      description: 'Those of another user, or with all=true those of everybody, with users.read.',
      cursor: 'cursor',
      query: reading(SESSIONS_QUERY, toSessionsQuery),
      answers: {
        200: {
          description: 'The sessions that have not ended.',
          schema: z.array(sessionAnswer),
          example: [ACCOUNT_EXAMPLES.session],
        },
      },
      handle: async ({ caller, query: { limit, ...asked } }) => {
        const query = { ...asked, limit: readLimit(limit) };
        const rows = await operations.listSessions(caller, query);
        return listReply(rows, {
          ...{ limit, cursorOf: ({ sessionId }) => sessionId },
          view: (session) => sessionView({ session, caller }),
        });
      },
    }),

    operation({
      method: 'DELETE',
      path: '/sessions/{id}',
      rpc: { method: call.endSession },
      access: 'self',
      tag: 'sessions',
      summary: 'End a session',
      description: 'Your own; those of others with users.manage.',
      subject: 'session',
      subjectIs: 'The session_id.',
      answers: { 204: { description: 'Ended.' } },
      handle: async ({ caller, id }) => {
        await operations.revokeSession(caller, id);
        return { status: 204, also: { session_id: id } };
      },
    }),
  ];
}
