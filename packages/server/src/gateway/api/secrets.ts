/** Secrets that payloads name, per namespace. */
import {
  ACCOUNT_EXAMPLES,
  rpc,
  SECRET_BODY,
  SECRETS_QUERY,
  secretAnswer,
  secretView,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, type Operation, operation, reading } from './operation.ts';

const { method: call } = rpc.AccountService;
const aboutSecret = { subject: 'secret', subjectIs: 'The name of the secret.' } as const;
const common = { tag: 'secrets', query: reading(SECRETS_QUERY) };

export function secretOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/secrets',
      rpc: { method: call.listSecrets },
      access: 'secrets.read',
      summary: 'List the secrets of a namespace',
      description: 'By name, all of them, without their values.',
      answers: {
        200: {
          description: 'The secrets.',
          schema: z.array(secretAnswer),
          example: [ACCOUNT_EXAMPLES.secret],
        },
      },
      handle: async ({ caller, query }) => ({
        body: (await operations.listSecrets(caller, query)).map(secretView),
      }),
    }),

    operation({
      ...common,
      ...aboutSecret,
      method: 'GET',
      path: '/secrets/{name}',
      rpc: { method: call.getSecret },
      access: 'secrets.read',
      summary: 'Read what is known of a secret',
      description: 'Everything but its value.',
      answers: {
        200: { description: 'The secret.', schema: secretAnswer, example: ACCOUNT_EXAMPLES.secret },
      },
      handle: async ({ caller, id: name, query }) => ({
        body: secretView(await operations.getSecret(caller, { ...query, name })),
      }),
    }),

    operation({
      ...common,
      ...aboutSecret,
      method: 'PUT',
      path: '/secrets/{name}',
      rpc: { method: call.setSecret },
      access: 'secrets.manage',
      summary: 'Set a secret',
      description:
        'Makes it, or gives it a new value under the next version. Runs that start after that get the new value: at once on the server that answers, within five seconds on all others.',
      body: reading(SECRET_BODY),
      bodyExamples: { token: { value: 'hunter2-and-more' } },
      answers: {
        200: { description: 'Set.', schema: secretAnswer, example: ACCOUNT_EXAMPLES.secret },
      },
      handle: async ({ caller, id: name, query, body: { value } }) => ({
        body: secretView(await operations.setSecret(caller, { ...query, name }, value)),
      }),
    }),

    operation({
      ...common,
      ...aboutSecret,
      method: 'DELETE',
      path: '/secrets/{name}',
      rpc: { method: call.deleteSecret },
      access: 'secrets.manage',
      summary: 'Delete a secret',
      description: 'Runs that name it fail from then on, and are not tried again.',
      answers: { 204: { description: 'Deleted.' } },
      handle: async ({ caller, id: name, query }) => {
        await operations.deleteSecret(caller, { ...query, name });
        return { status: 204, also: { name } };
      },
    }),
  ];
}
