/** What applying a job by its key and restoring a version of one answer: the job, and each field that differs, before and after. */
import { canonical, JOB_FIELDS, type Job } from '@carillon/domain';
import { z } from 'zod';
import { type JobFacts, jobAnswer, jobView } from './jobs.ts';

const fieldChange = z.strictObject({
  field: z.string(),
  before: z.unknown().describe('As it was.'),
  after: z.unknown().describe('As it is now, or would be.'),
});

/** A job that was applied by its key. */
export const jobAppliedAnswer = z
  .strictObject({
    outcome: z.enum(['created', 'updated', 'unchanged']),
    dry_run: z.boolean().describe('true: this is what would be; nothing was changed.'),
    changes: z.array(fieldChange).describe('Of an update: the fields that differ.'),
    ...jobAnswer.shape,
    job_id: z.uuid().nullable().describe('null where the job is not there: in a dry run.'),
  })
  .meta({ id: 'JobApplied' });

interface AppliedFacts extends JobFacts {
  readonly outcome: 'created' | 'updated' | 'unchanged';
  readonly before: Job | undefined;
}

/** A job that has an earlier version again. */
export const jobRestoredAnswer = z
  .strictObject({
    outcome: z.enum(['restored', 'unchanged']),
    dry_run: z.boolean().describe('true: this is what would be; nothing was changed.'),
    changes: z.array(fieldChange).describe('The fields that differ.'),
    not_recorded: z
      .array(z.string())
      .describe(
        'Credentials are not kept with versions: these stay as the job has them now, or are left out where it has none.',
      ),
    ...jobAnswer.shape,
  })
  .meta({ id: 'JobRestored' });

interface RestoredFacts extends JobFacts {
  readonly outcome: 'restored' | 'unchanged';
  readonly before: Job;
  readonly notRecorded: readonly string[];
}

export function jobRestoredView(
  { outcome, before, notRecorded, ...details }: RestoredFacts,
  dryRun: boolean,
): z.output<typeof jobRestoredAnswer> {
  const changes = changesOf(before, details);
  return { outcome, dry_run: dryRun, changes, not_recorded: [...notRecorded], ...jobView(details) };
}

/** frequency is another word for interval. */
const COMPARED = ['status', ...Object.keys(JOB_FIELDS).filter((field) => field !== 'frequency')];

function changesOf(before: Job | undefined, details: JobFacts): z.output<typeof fieldChange>[] {
  // Of the job itself: whether a run of it is going on is no part of what was applied.
  const own = (job: Job): Readonly<Record<string, unknown>> =>
    jobView({ ...details, job, status: job.status });
  const after = own(details.job);
  const was = before && own(before);
  return COMPARED.flatMap((field) =>
    was === undefined || canonical(was[field]) === canonical(after[field])
      ? []
      : [{ field, before: was[field], after: after[field] }],
  );
}

export function jobAppliedView(
  { outcome, before, ...details }: AppliedFacts,
  dryRun: boolean,
): z.output<typeof jobAppliedAnswer> {
  const changes = changesOf(before, details);
  const view = { outcome, dry_run: dryRun, changes, ...jobView(details) };
  return dryRun && outcome === 'created' ? { ...view, job_id: null } : view;
}
