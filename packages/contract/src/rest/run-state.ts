/** What runs say of themselves while they go on, as it is answered: how far they are, and what their next attempt goes on from. */
import type { ArtifactEntry, CheckpointFacts, RunProgress } from '@carillon/domain';
import { z } from 'zod';
import { instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';
import { count } from './values.ts';

export const progressAnswer = z
  .strictObject({ percent: z.number().describe('From 0 to 100.'), message: z.string().nullable() })
  .meta({ id: 'Progress' });

export function progressView({ percent, message }: RunProgress) {
  return { percent, message: message ?? null };
}

export const checkpointFactsAnswer = z
  .strictObject({
    saved_at: instant,
    bytes: z.int().describe('Of its value as JSON text.'),
    epoch: z.int().describe('Of the attempt that saved it.'),
  })
  .meta({ id: 'Checkpoint' });

export function checkpointFactsView({ savedAtMs, bytes, epoch }: CheckpointFacts) {
  return { saved_at: instantText(savedAtMs), bytes, epoch };
}

/** With its value, as the next attempt gets it. */
export const checkpointAnswer = checkpointFactsAnswer
  .extend({ run_id: z.uuid(), value: z.unknown().describe('What was saved.') })
  .meta({ id: 'CheckpointValue' });

/** A file that an attempt left. */
export const artifactAnswer = z
  .strictObject({
    name: z.string(),
    bytes: z.int(),
    attempt: z.int().describe('That left it, counted from 1.'),
    created_at: instant.describe('When it was collected, after the end of its attempt.'),
  })
  .meta({ id: 'Artifact' });

export function artifactView({
  name,
  bytes,
  attempt,
  keptAtMs,
}: Pick<ArtifactEntry, 'name' | 'bytes'> & { readonly attempt: number; readonly keptAtMs: number }) {
  return { name, bytes, attempt, created_at: instantText(keptAtMs) };
}

const ATTEMPT_MAX = 999_999_999;

export const ARTIFACT_QUERY = {
  schema: z.strictObject({
    attempt: count(ATTEMPT_MAX)
      .optional()
      .describe('The attempt that left it, counted from 1. Left out: the latest that left one of this name.'),
  }),
} satisfies Shape;
