/** People: who can sign in, and what they may where. */
import {
  ACCOUNT_EXAMPLES,
  BY_NAME_QUERY,
  GRANTS_BODY,
  PASSWORD_BODY,
  parseIdempotencyKey,
  readId,
  toGrant,
  USER_BODY,
  USER_CHANGE,
  userAnswer,
  userView,
} from '@carillon/contract';
import { z } from 'zod';
import { sessionCookie } from '../authenticate/session-cookie.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages, readLimit } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

const ONE = { schema: userAnswer, example: ACCOUNT_EXAMPLES.user };
const params = { id: 'The user_id.' };

export function userEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  const cookie = sessionCookie(address);
  return [
    endpoint({
      method: 'GET',
      path: '/users',
      access: 'users.read',
      tag: 'users',
      summary: 'List users by name',
      query: BY_NAME_QUERY,
      answers: {
        200: { description: 'The users.', schema: z.array(userAnswer), example: [ACCOUNT_EXAMPLES.user] },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { after, limit } = query;
        const rows = await operations.listUsers(caller, { after, limit: readLimit(limit) });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && { name: 'after', value: last.name };
        linkPages(request, reply, { address, page: undefined, hasMore, next });
        return shown.map(userView);
      },
    }),

    endpoint({
      method: 'POST',
      path: '/users',
      access: 'users.manage',
      tag: 'users',
      summary: 'Create a user',
      description:
        'The first one is made with the admin key. Nobody can give more than they have themselves.',
      headers: { 'Idempotency-Key': { description: 'The same key again answers the same user.' } },
      body: USER_BODY,
      bodyExamples: { user: ACCOUNT_EXAMPLES.userBody },
      answers: { 201: { description: 'Created.', ...ONE } },
      handle: async ({ caller, body, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const { name, display_name: displayName, password, grants } = body;
        const input = { name, displayName, password, grants: grants?.map(toGrant) };
        const user = await operations.createUser(caller, input, { idempotencyKey });
        reply.code(201).header('location', `${address}/api/users/${user.userId}`);
        return userView(user);
      },
    }),

    endpoint({
      method: 'GET',
      path: '/users/{id}',
      access: 'users.read',
      tag: 'users',
      summary: 'Read a user',
      params,
      answers: { 200: { description: 'The user.', ...ONE } },
      handle: async ({ caller, params }) =>
        userView(await operations.getUser(caller, readId(params.id!, 'user'))),
    }),

    endpoint({
      method: 'PATCH',
      path: '/users/{id}',
      access: 'users.manage',
      tag: 'users',
      summary: 'Change, disable or enable a user',
      description: 'A disabled user cannot sign in, loses every session, and their keys stop working.',
      params,
      body: USER_CHANGE,
      bodyExamples: { disable: { disabled: true } },
      answers: { 200: { description: 'As they are now.', ...ONE } },
      handle: async ({ caller, params, body }) => {
        const change = { displayName: body.display_name, disabled: body.disabled };
        return userView(await operations.updateUser(caller, readId(params.id!, 'user'), change));
      },
    }),

    endpoint({
      method: 'DELETE',
      path: '/users/{id}',
      access: 'users.manage',
      tag: 'users',
      summary: 'Remove a user, their keys and their sessions',
      description: 'Their jobs stay.',
      params,
      answers: { 204: { description: 'Removed.' } },
      handle: async ({ caller, params, reply }) => {
        await operations.deleteUser(caller, readId(params.id!, 'user'));
        reply.code(204);
      },
    }),

    endpoint({
      method: 'PUT',
      path: '/users/{id}/grants',
      access: 'users.manage',
      tag: 'users',
      summary: 'Say what a user may, and where',
      description: 'Replaces all grants; sessions and keys feel it within seconds.',
      params,
      body: GRANTS_BODY,
      bodyExamples: { grants: ACCOUNT_EXAMPLES.grantsBody },
      answers: { 200: { description: 'As they are now.', ...ONE } },
      handle: async ({ caller, params, body }) =>
        userView(await operations.setGrants(caller, readId(params.id!, 'user'), body.grants.map(toGrant))),
    }),

    endpoint({
      method: 'POST',
      path: '/users/{id}/password',
      access: 'self',
      tag: 'users',
      summary: 'Set a password',
      description:
        'Your own with the current one; that of others with users.manage. Ends their other sessions.',
      params,
      body: PASSWORD_BODY,
      bodyExamples: { own: ACCOUNT_EXAMPLES.passwordBody },
      answers: { 204: { description: 'Set.' } },
      handle: async ({ caller, params, body, request, reply }) => {
        await operations.setPassword(caller, readId(params.id!, 'user'), {
          password: body.password,
          currentPassword: body.current_password,
          keptSession: cookie.read(request),
        });
        reply.code(204);
      },
    }),
  ];
}
