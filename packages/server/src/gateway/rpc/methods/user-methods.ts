/** People: who can sign in, and what they may where. */
import { PASSWORD_BODY, rpc, toGrant, USER_BODY, USER_CHANGE, userView } from '@carillon/contract';
import type { User } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import { cutPage, readLimit } from '../../page-links.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.AccountService;

export function userMethods(operations: Operations): RpcMethod[] {
  const answer = (user: User) => ({ user: rpc.userMessage(userView(user)) });
  return [
    unary(method.listUsers, ['users.read'], async ({ caller, request }) => {
      const { after, limit } = rpc.namesAsked(request);
      const rows = await operations.listUsers(caller, { after, limit: readLimit(limit) });
      const { shown, hasMore } = cutPage(rows, limit);
      return {
        users: shown.map((user) => rpc.userMessage(userView(user))),
        nextPageToken: (hasMore && shown.at(-1)?.name) || '',
      };
    }),
    unary(method.createUser, ['users.manage'], async ({ caller, request }) => {
      const body = rpc.bodyAsked(USER_BODY, rpc.CreateUserRequestSchema, request);
      const { name, display_name: displayName, password, grants } = body;
      const input = { name, displayName, password, grants: grants?.map(toGrant) };
      const idempotencyKey = keyOf(request.idempotencyKey);
      return answer(await operations.createUser(caller, input, { idempotencyKey }));
    }),
    unary(method.getUser, ['users.read'], async ({ caller, request }) =>
      answer(await operations.getUser(caller, idOf.user(request.userId))),
    ),
    unary(method.updateUser, ['users.manage'], async ({ caller, request }) => {
      const body = rpc.bodyAsked(USER_CHANGE, rpc.UpdateUserRequestSchema, request, ['user_id']);
      const change = { displayName: body.display_name, disabled: body.disabled };
      return answer(await operations.updateUser(caller, idOf.user(request.userId), change));
    }),
    unary(method.deleteUser, ['users.manage'], async ({ caller, request }) => {
      const userId = idOf.user(request.userId);
      await operations.deleteUser(caller, userId);
      return { userId };
    }),
    unary(method.setUserGrants, ['users.manage'], async ({ caller, request }) =>
      answer(await operations.setGrants(caller, idOf.user(request.userId), rpc.grantsAsked(request))),
    ),
    unary(method.setUserPassword, 'self', async ({ caller, request }) => {
      const userId = idOf.user(request.userId);
      const body = rpc.bodyAsked(PASSWORD_BODY, rpc.SetUserPasswordRequestSchema, request, ['user_id']);
      const { password, current_password: currentPassword } = body;
      await operations.setPassword(caller, userId, { password, currentPassword });
      return { userId };
    }),
  ];
}
