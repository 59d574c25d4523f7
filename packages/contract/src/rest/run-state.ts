/** What runs say of themselves while they go on, as it is answered: how far they are, and what their next attempt goes on from. */
import type { CheckpointFacts, RunProgress } from '@carillon/domain';
import { z } from 'zod';
import { instant, instantText } from './answer.ts';

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
