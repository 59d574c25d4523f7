/** Keys that sign the requests of http jobs: bodies and answers. One answer alone holds the secret. */
import { OVERLAP_SECONDS_MAX, parseInstant, type SigningKey } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';

const fields = z.strictObject({
  starts_at: z.union([z.string(), z.number()]).nullish().describe('When it begins to sign; left out: now.'),
  overlap_seconds: z
    .int({ error: 'must be a whole number' })
    .min(0, { error: 'must not be negative' })
    .max(OVERLAP_SECONDS_MAX, { error: `must be at most ${OVERLAP_SECONDS_MAX}` })
    .nullish()
    .describe('The other keys of the namespace end so long after this one has begun; left out: they go on.'),
});

export const SIGNING_KEY_BODY = { schema: fields } satisfies Shape;

export function toSigningKeyInput({
  starts_at: startsAt,
  overlap_seconds: overlap,
}: z.output<typeof fields>) {
  return {
    startsAtMs: startsAt == null ? undefined : parseInstant(startsAt, { field: 'starts_at' }),
    overlapSeconds: overlap ?? undefined,
  };
}

export const { answer: signingKeyAnswer, view: signingKeyView } = answerOf<SigningKey>('SigningKey')({
  signing_key_id: [z.uuid(), (key) => key.signingKeyId],
  namespace: [z.string(), (key) => key.namespace],
  created_at: [instant, (key) => instantText(key.createdAtMs)],
  starts_at: [instant.describe('It signs from then on.'), (key) => instantText(key.startsAtMs)],
  ends_at: [
    instant.nullable().describe('It signs until then; null: until it is deleted.'),
    (key) => instantText(key.endsAtMs),
  ],
});

export const createdSigningKeyAnswer = signingKeyAnswer
  .extend({ secret: z.string().describe('What receivers verify signatures with. It is shown this once.') })
  .meta({ id: 'CreatedSigningKey' });
