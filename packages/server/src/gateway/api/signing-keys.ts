/** Keys that sign the requests of http jobs, per namespace. */
import {
  ACCOUNT_EXAMPLES,
  createdSigningKeyAnswer,
  rpc,
  SIGNING_KEY_BODY,
  signingKeyAnswer,
  signingKeyView,
  toSigningKeyInput,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, type Operation, operation, reading } from './operation.ts';

const { method: call } = rpc.AccountService;
const aboutNamespace = { subject: 'namespace', subjectIs: 'The name of the namespace.' } as const;

export function signingKeyOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/namespaces/{name}/signing-keys',
      rpc: { method: call.listSigningKeys },
      access: 'signing_keys.read',
      tag: 'signing keys',
      summary: 'List the keys that sign requests of a namespace',
      description: 'Without their secrets, oldest first; those that have ended until the next one is made.',
      ...aboutNamespace,
      answers: {
        200: {
          description: 'The keys.',
          schema: z.array(signingKeyAnswer),
          example: [ACCOUNT_EXAMPLES.signingKey],
        },
      },
      handle: async ({ caller, id }) => ({
        body: (await operations.listSigningKeys(caller, id)).map(signingKeyView),
      }),
    }),

    operation({
      method: 'POST',
      path: '/namespaces/{name}/signing-keys',
      rpc: { method: call.createSigningKey },
      access: 'signing_keys.manage',
      tag: 'signing keys',
      summary: 'Make a key that signs requests of a namespace',
      description:
        'The answer is the only one that holds the secret. With overlap_seconds the key replaces the others: until they end, requests carry a signature of each. All servers use it within seconds.',
      ...aboutNamespace,
      body: reading(SIGNING_KEY_BODY, toSigningKeyInput),
      bodyExamples: { first: {}, rotation: { overlap_seconds: 86_400 } },
      answers: {
        201: {
          description: 'Made.',
          schema: createdSigningKeyAnswer,
          example: ACCOUNT_EXAMPLES.createdSigningKey,
        },
      },
      handle: async ({ caller, id, body }) => {
        const { key, secret } = await operations.createSigningKey(caller, id, body);
        return { status: 201, body: { ...signingKeyView(key), secret } };
      },
    }),

    operation({
      method: 'DELETE',
      path: '/signing-keys/{id}',
      rpc: { method: call.deleteSigningKey },
      access: 'signing_keys.manage',
      tag: 'signing keys',
      summary: 'Delete a signing key',
      description:
        'No server signs with it any more within seconds. Without another one, requests are not signed.',
      subject: 'signing key',
      subjectIs: 'The signing_key_id.',
      answers: { 204: { description: 'Deleted.' } },
      handle: async ({ caller, id }) => {
        await operations.deleteSigningKey(caller, id);
        return { status: 204, also: { signing_key_id: id } };
      },
    }),
  ];
}
