/** Who may do what: namespaces, users, and the log of what they changed. */
import {
  ACCOUNT_EXAMPLES,
  AUDIT_QUERY,
  auditAnswer,
  auditView,
  BY_NAME_QUERY,
  GRANTS_BODY,
  NAMESPACE_BODY,
  NAMESPACE_CHANGE,
  namespaceAnswer,
  namespaceView,
  PASSWORD_BODY,
  rpc,
  toAuditQuery,
  toByNameQuery,
  toGrant,
  toUsersQuery,
  USER_BODY,
  USER_CHANGE,
  USER_REMOVAL,
  USERS_QUERY,
  userAnswer,
  userView,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, listReply, type Operation, operation, reading, readLimit } from './operation.ts';

const { method: call } = rpc.AccountService;
const NAMESPACE = { schema: namespaceAnswer, example: ACCOUNT_EXAMPLES.namespace };
const USER = { schema: userAnswer, example: ACCOUNT_EXAMPLES.user };

const aboutNamespace = { subject: 'namespace', subjectIs: 'The name of the namespace.' } as const;
const aboutUser = { subject: 'user', subjectIs: 'The user_id.' } as const;

export function namespaceOperations({ operations, address }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/namespaces',
      rpc: { method: call.listNamespaces },
      access: 'namespaces.read',
      tag: 'namespaces',
      summary: 'List the namespaces that you have a grant in',
      cursor: 'cursor',
      query: reading(BY_NAME_QUERY, toByNameQuery),
      answers: {
        200: {
          description: 'The namespaces, by name.',
          schema: z.array(namespaceAnswer),
          example: [ACCOUNT_EXAMPLES.namespace],
        },
      },
      handle: async ({ caller, query: { after, limit } }) => {
        const rows = await operations.listNamespaces(caller, { after, limit: readLimit(limit) });
        return listReply(rows, { limit, view: namespaceView, cursorOf: ({ name }) => name });
      },
    }),

    operation({
      method: 'POST',
      path: '/namespaces',
      rpc: { method: call.createNamespace },
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Create a namespace',
      headers: {
        'Idempotency-Key': { description: 'With it, a namespace that is already as asked for is no error.' },
      },
      body: reading(NAMESPACE_BODY),
      bodyExamples: { namespace: ACCOUNT_EXAMPLES.namespaceBody },
      answers: { 201: { description: 'Created.', ...NAMESPACE } },
      handle: async ({ caller, body, idempotencyKey }) => {
        const namespace = await operations.createNamespace(caller, body, { idempotencyKey });
        const location = `${address}/api/namespaces/${namespace.name}`;
        return { status: 201, headers: { location }, body: namespaceView(namespace) };
      },
    }),

    operation({
      method: 'GET',
      path: '/namespaces/{name}',
      rpc: { method: call.getNamespace },
      access: 'namespaces.read',
      tag: 'namespaces',
      summary: 'Read a namespace',
      ...aboutNamespace,
      answers: { 200: { description: 'The namespace.', ...NAMESPACE } },
      handle: async ({ caller, id }) => ({ body: namespaceView(await operations.getNamespace(caller, id)) }),
    }),

    operation({
      method: 'PATCH',
      path: '/namespaces/{name}',
      rpc: { method: call.updateNamespace },
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Describe a namespace anew',
      ...aboutNamespace,
      body: reading(NAMESPACE_CHANGE),
      bodyExamples: { description: { description: 'Invoices, reminders and dunning' } },
      answers: { 200: { description: 'As it is now.', ...NAMESPACE } },
      handle: async ({ caller, id, body }) => ({
        body: namespaceView(await operations.updateNamespace(caller, id, body)),
      }),
    }),

    operation({
      method: 'DELETE',
      path: '/namespaces/{name}',
      rpc: { method: call.deleteNamespace },
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Remove an empty namespace',
      description: 'Grants and keys in it go with it. One that holds jobs is refused.',
      ...aboutNamespace,
      answers: { 204: { description: 'Removed.' } },
      handle: async ({ caller, id }) => {
        await operations.deleteNamespace(caller, id);
        return { status: 204, also: { name: id } };
      },
    }),
  ];
}

export function userOperations({ operations, address }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/users',
      rpc: { method: call.listUsers },
      access: 'users.read',
      tag: 'users',
      summary: 'List users by name',
      cursor: 'cursor',
      query: reading(USERS_QUERY, toUsersQuery),
      answers: {
        200: { description: 'The users.', schema: z.array(userAnswer), example: [ACCOUNT_EXAMPLES.user] },
      },
      handle: async ({ caller, query: { name, after, limit } }) => {
        const rows = await operations.listUsers(caller, { name, after, limit: readLimit(limit) });
        return listReply(rows, { limit, view: userView, cursorOf: ({ name }) => name });
      },
    }),

    operation({
      method: 'POST',
      path: '/users',
      rpc: { method: call.createUser },
      access: 'users.manage',
      tag: 'users',
      summary: 'Create a user',
      description:
        'The first one is made with the admin key. Nobody can give more than they have themselves. Takes your password in current_password.',
      headers: { 'Idempotency-Key': { description: 'The same key again answers the same user.' } },
      body: reading(USER_BODY),
      bodyExamples: { user: ACCOUNT_EXAMPLES.userBody },
      answers: { 201: { description: 'Created.', ...USER } },
      handle: async ({ caller, body, idempotencyKey }) => {
        const { name, display_name: displayName, password, current_password: currentPassword } = body;
        const input = { name, displayName, password, grants: body.grants?.map(toGrant), currentPassword };
        const user = await operations.createUser(caller, input, { idempotencyKey });
        const location = `${address}/api/users/${user.userId}`;
        return { status: 201, headers: { location }, body: userView(user) };
      },
    }),

    operation({
      method: 'GET',
      path: '/users/{id}',
      rpc: { method: call.getUser },
      access: 'users.read',
      tag: 'users',
      summary: 'Read a user',
      ...aboutUser,
      answers: { 200: { description: 'The user.', ...USER } },
      handle: async ({ caller, id }) => ({ body: userView(await operations.getUser(caller, id)) }),
    }),

    operation({
      method: 'PATCH',
      path: '/users/{id}',
      rpc: { method: call.updateUser },
      access: 'users.manage',
      tag: 'users',
      summary: 'Change, disable or enable a user',
      description:
        'A disabled user cannot sign in, loses every session, and their keys stop working. The last administrator is not disabled. Enabling takes your password in current_password.',
      ...aboutUser,
      body: reading(USER_CHANGE),
      bodyExamples: { disable: { disabled: true } },
      answers: { 200: { description: 'As they are now.', ...USER } },
      handle: async ({ caller, id, body }) => {
        const { display_name: displayName, disabled, current_password: currentPassword } = body;
        const change = { displayName, disabled, currentPassword };
        return { body: userView(await operations.updateUser(caller, id, change)) };
      },
    }),

    operation({
      method: 'DELETE',
      path: '/users/{id}',
      rpc: { method: call.deleteUser },
      access: 'users.manage',
      tag: 'users',
      summary: 'Remove a user, their keys and their sessions',
      description:
        'Their jobs stay. The last administrator of the installation is not removed. Takes your password in current_password.',
      ...aboutUser,
      body: reading(USER_REMOVAL),
      bodyOptional: true,
      bodyExamples: {
        'with your password': { current_password: ACCOUNT_EXAMPLES.passwordBody.current_password },
      },
      answers: { 204: { description: 'Removed.' } },
      handle: async ({ caller, id, body: { current_password: currentPassword } }) => {
        await operations.deleteUser(caller, id, { currentPassword });
        return { status: 204, also: { user_id: id } };
      },
    }),

    operation({
      method: 'PUT',
      path: '/users/{id}/grants',
      // A message says "no grants" by leaving them out.
      rpc: { method: call.setUserGrants, input: (fields) => ({ grants: [], ...fields }) },
      access: 'users.manage',
      tag: 'users',
      summary: 'Say what a user may, and where',
      description:
        'Replaces all grants; sessions and keys feel it within seconds. The last administrator stays one. Takes your password in current_password.',
      ...aboutUser,
      body: reading(GRANTS_BODY),
      bodyExamples: { grants: ACCOUNT_EXAMPLES.grantsBody },
      answers: { 200: { description: 'As they are now.', ...USER } },
      handle: async ({ caller, id, body: { grants, current_password: currentPassword } }) => ({
        body: userView(await operations.setGrants(caller, id, grants.map(toGrant), { currentPassword })),
      }),
    }),

    operation({
      method: 'POST',
      path: '/users/{id}/password',
      rpc: { method: call.setUserPassword },
      access: 'self',
      tag: 'users',
      summary: 'Set a password',
      description:
        'Your own, or with users.manage that of others; either takes your password in current_password. Ends their other sessions, and with end_keys the keys that they made or rotated themselves, also those of others and of nobody.',
      ...aboutUser,
      body: reading(PASSWORD_BODY),
      bodyExamples: { own: ACCOUNT_EXAMPLES.passwordBody },
      answers: { 204: { description: 'Set.' } },
      handle: async ({ caller, id, body, session }) => {
        const { password, current_password: currentPassword, end_keys: endKeys } = body;
        const keptSession = session();
        await operations.setPassword(caller, id, { password, currentPassword, endKeys, keptSession });
        return { status: 204, also: { user_id: id } };
      },
    }),
  ];
}

export function auditOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/audit',
      rpc: { method: rpc.AuditService.method.listAuditEntries },
      access: 'audit.read',
      tag: 'audit',
      summary: 'Who changed what, newest first',
      description:
        'Of the namespaces where you are an administrator; of everything with a grant for the whole.',
      cursor: 'cursor',
      query: reading(AUDIT_QUERY, toAuditQuery),
      answers: {
        200: { description: 'The entries.', schema: z.array(auditAnswer), example: [ACCOUNT_EXAMPLES.audit] },
      },
      handle: async ({ caller, query: { limit, ...filter } }) => {
        const { entries, next } = await operations.listAudit(caller, { ...filter, limit });
        return {
          body: entries.map(auditView),
          list: {
            hasMore: next !== undefined,
            next: next === undefined ? undefined : String(next),
            cursorAt: (index) => String(entries[index]!.auditId),
          },
        };
      },
    }),
  ];
}
