/** The short answers: what became of a request about jobs, runs and dead letters. */
import {
  BULK_ACTIONS,
  type BulkAction,
  type JobId,
  PRIORITIES,
  type Priority,
  type RunId,
} from '@carillon/domain';
import { z } from 'zod';
import { instantText } from './instant-text.ts';
import { problemAnswer } from './problem.ts';

export const jobAcceptedAnswer = z
  .strictObject({ job_id: z.uuid(), status: z.literal('submitted') })
  .meta({ id: 'JobAccepted' });

export const batchAnswer = z.array(
  z.union([
    z
      .strictObject({
        job_id: z.uuid(),
        status: z.literal('submitted'),
        created: z.boolean().describe('False: accepted before, under the same Idempotency-Key.'),
      })
      .meta({ id: 'JobOfBatch' }),
    z.strictObject({ status: z.literal('refused'), error: problemAnswer }).meta({ id: 'JobRefused' }),
  ]),
);

export const jobUpdatedAnswer = z
  .strictObject({ job_id: z.uuid(), status: z.literal('updated'), version: z.int() })
  .meta({ id: 'JobUpdated' });

/** What a change of a job's state answers. */
export const jobActedAnswer = z
  .strictObject({
    job_id: z.uuid(),
    status: z.enum(['paused', 'resumed', 'cancelled', 'deleted']),
  })
  .meta({ id: 'JobActed' });

export const runAddedAnswer = z.strictObject({ job_id: z.uuid(), run_id: z.uuid() }).meta({ id: 'RunAdded' });

export const runCancelledAnswer = z
  .strictObject({ run_id: z.uuid(), status: z.enum(['cancelled', 'cancelling']) })
  .meta({ id: 'RunCancelled' });

export const redrivenAnswer = z
  .strictObject({ job_id: z.uuid(), run_id: z.uuid(), redriven_from: z.uuid() })
  .meta({ id: 'Redriven' });

export const upcomingAnswer = z
  .strictObject({
    job_id: z.uuid(),
    name: z.string(),
    namespace: z.string(),
    user_id: z.string().nullable(),
    handler: z.string(),
    priority: z.enum(PRIORITIES),
    run_time: z.iso.datetime(),
  })
  .meta({ id: 'Upcoming' });

export function upcomingView(run: {
  readonly job: {
    readonly jobId: JobId;
    readonly name: string;
    readonly namespace: string;
    readonly userId: string | undefined;
    readonly handler: string;
    readonly priority: Priority;
  };
  readonly runAtMs: number;
}): z.output<typeof upcomingAnswer> {
  const { jobId, name, namespace, userId, handler, priority } = run.job;
  return {
    job_id: jobId,
    name,
    namespace,
    user_id: userId ?? null,
    handler,
    priority,
    run_time: instantText(run.runAtMs),
  };
}

/** Ids that a report names; the numbers beside them count all. */
const NAMED_MAX = 100;

export const bulkAnswer = z
  .strictObject({
    action: z.enum(BULK_ACTIONS),
    dry_run: z.boolean(),
    matched: z.int(),
    changed: z.int(),
    refused: z.int().describe('Could not be changed: they ended meanwhile, for instance.'),
    jobs: z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    next: z.uuid().nullable().describe('Send it as "after" to go on with the rest; null: there is none.'),
  })
  .meta({ id: 'BulkReport' });

export function bulkView(
  request: { readonly action: BulkAction; readonly dryRun: boolean },
  report: {
    readonly matched: number;
    readonly changed: number;
    readonly refused: number;
    readonly jobIds: readonly JobId[];
    readonly next: JobId | undefined;
  },
): z.output<typeof bulkAnswer> {
  return {
    action: request.action,
    dry_run: request.dryRun,
    matched: report.matched,
    changed: report.changed,
    refused: report.refused,
    jobs: report.jobIds.slice(0, NAMED_MAX),
    next: report.next ?? null,
  };
}

export const redriveReportAnswer = z
  .strictObject({
    dry_run: z.boolean(),
    matched: z.int(),
    redriven: z.int(),
    refused: z.int().describe('Their job was cancelled or removed.'),
    runs: z.array(z.uuid()).describe(`The first ${NAMED_MAX} that matched.`),
    next: z.string().nullable().describe('Send it as "before" to go on with the rest; null: there is none.'),
  })
  .meta({ id: 'RedriveReport' });

export function redriveReportView(
  dryRun: boolean,
  report: {
    readonly matched: number;
    readonly redriven: number;
    readonly refused: number;
    readonly runIds: readonly RunId[];
    readonly next: string | undefined;
  },
): z.output<typeof redriveReportAnswer> {
  const { matched, redriven, refused, runIds, next } = report;
  return {
    dry_run: dryRun,
    matched,
    redriven,
    refused,
    runs: runIds.slice(0, NAMED_MAX),
    next: next ?? null,
  };
}
