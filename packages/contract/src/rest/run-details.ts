/** One run with everything about it: its attempts, what it was asked for with, what it repeats and what repeats it. */
import type { CheckpointFacts, DeadLetter, JsonObject, RunFacts, RunId, RunRepeat } from '@carillon/domain';
import { z } from 'zod';
import { instant, instantText } from './answer.ts';
import { deadLetterAnswer, deadLetterView } from './dead-letters.ts';
import { checkpointFactsAnswer, checkpointFactsView } from './run-state.ts';
import { runAnswer, runView } from './runs.ts';

export const runDetailsAnswer = runAnswer
  .extend({
    attempts: z.array(runAnswer),
    checkpoint: checkpointFactsAnswer
      .nullable()
      .describe('What its next attempt goes on from; null when there is none.'),
    input: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What it was asked for with, merged over the payload of its job.'),
    dead_letter: deadLetterAnswer.nullable().describe('It was given up; null when it was not.'),
    origin_run_id: z
      .uuid()
      .nullable()
      .describe('The ended run that was redriven or run again as this one; null for others.'),
    requested_by: z
      .string()
      .nullable()
      .describe(
        'Who asked for it: ran the job now, or redrove or repeated the run before (`key` and its name for a key of nobody); null for occurrences of a schedule, and where it is not known.',
      ),
    repeated_as: z
      .array(
        z.strictObject({
          run_id: z.uuid(),
          requested_by: z.string().nullable(),
          requested_at: instant,
        }),
      )
      .describe('The runs that it was redriven or run again as, the latest first; at most ten.'),
    cancelled_by: z
      .string()
      .nullable()
      .describe('Who asked for its end, as in requested_by; null where it is not known.'),
  })
  .meta({ id: 'RunDetails' });

interface RunDetails {
  readonly latest: RunFacts;
  readonly attempts: readonly RunFacts[];
  readonly input: JsonObject | undefined;
  readonly checkpoint: CheckpointFacts | undefined;
  readonly letter: DeadLetter | undefined;
  readonly originRunId: RunId | undefined;
  readonly requestedBy: string | undefined;
  readonly repeats: readonly RunRepeat[];
  readonly cancelledBy: string | undefined;
}

export function runDetailsView(details: RunDetails) {
  const { latest, attempts, input = null, checkpoint, letter } = details;
  return {
    ...runView(latest),
    attempts: attempts.map(runView),
    checkpoint: checkpoint ? checkpointFactsView(checkpoint) : null,
    input,
    dead_letter: letter ? deadLetterView(letter) : null,
    origin_run_id: details.originRunId ?? null,
    requested_by: details.requestedBy ?? null,
    repeated_as: details.repeats.map(({ runId, requestedBy, requestedAtMs }) => ({
      ...{ run_id: runId, requested_by: requestedBy ?? null, requested_at: instantText(requestedAtMs) },
    })),
    cancelled_by: details.cancelledBy ?? null,
  };
}
