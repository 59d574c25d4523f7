/** Secrets that payloads name: bodies and answers. No answer holds a value. */
import { SECRET_VALUE_BYTES_MAX, type Secret } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';
import { text } from './values.ts';

export const SECRETS_QUERY = {
  schema: z.strictObject({
    namespace: text.optional().describe('Whose secrets; where the caller makes jobs when left out.'),
  }),
} satisfies Shape;

export const SECRET_BODY = {
  schema: z.strictObject({
    // A refusal never quotes it.
    value: z
      .string({ error: 'must be a string' })
      .describe(`The value, of at most ${SECRET_VALUE_BYTES_MAX} bytes. No answer ever holds it.`),
  }),
} satisfies Shape;

export const { answer: secretAnswer, view: secretView } = answerOf<Secret>('Secret')({
  name: [z.string(), (secret) => secret.name],
  namespace: [z.string(), (secret) => secret.namespace],
  version: [z.int().describe('1 when it was made; each new value has the next.'), (secret) => secret.version],
  masked: [
    z
      .boolean()
      .describe(
        'Whether runs mask it in their output, results and errors: a value of less than 8 characters is not.',
      ),
    (secret) => secret.masked,
  ],
  created_at: [instant, (secret) => instantText(secret.createdAtMs)],
  created_by: [z.string().describe('The name of who made it.'), (secret) => secret.createdBy],
  updated_at: [instant.describe('When its value was set last.'), (secret) => instantText(secret.updatedAtMs)],
  updated_by: [z.string().describe('The name of who set it last.'), (secret) => secret.updatedBy],
});
