/** Counts over time, what goes on now, and failures by group: queries and answers. */
import type { JobId, Moment, RunId } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import { readIdFilter, readMoment } from './filter-schemas.ts';
import type { Shape } from './shape.ts';
import { count, oneOf, text } from './values.ts';

const FAILURES_MAX = 200;
const BUCKETS = ['auto', 'minute', 'hour'] as const;

const span = {
  from: text.optional().describe('An instant, or how long ago: 15m, 6h, 7d.'),
  to: text.optional().describe('An instant, or how long ago. Left out: now.'),
};
const namespace = text.optional().describe('Left out: all in which you may read every run.');

const statsFields = z.strictObject({
  ...span,
  bucket: oneOf(new Map(BUCKETS.map((word) => [word, word])))
    .optional()
    .describe('auto: minutes up to six hours, else hours.'),
  namespace,
  handler: text.optional(),
  job_id: text
    .optional()
    .describe(
      'Of this job alone: counted from its latest 2,000 attempts. from in the answer tells how far back they reach.',
    ),
});
export const STATS_QUERY = { schema: statsFields } satisfies Shape;

export function toStatsQuery(read: z.output<typeof statsFields>) {
  const { bucket, namespace, handler } = read;
  return { ...toSpan(read), namespace, handler, bucket: bucket === 'auto' ? undefined : bucket };
}

export const STATS_NOW_QUERY = { schema: z.strictObject({ namespace }) } satisfies Shape;

const failuresFields = z.strictObject({
  ...span,
  namespace,
  job_id: text.optional().describe('Of this job alone: of its latest 2,000 attempts.'),
  limit: count(FAILURES_MAX).optional().describe('Groups; 50 when left out.'),
});
export const FAILURES_QUERY = { schema: failuresFields } satisfies Shape;

export function toFailuresQuery(read: z.output<typeof failuresFields>) {
  const { namespace, limit } = read;
  return { ...toSpan(read), namespace, limit };
}

function toSpan({
  from,
  to,
  job_id,
}: {
  from?: string | undefined;
  to?: string | undefined;
  job_id?: string | undefined;
}): { from: Moment | undefined; to: Moment | undefined; jobId: JobId | undefined } {
  return {
    from: from === undefined ? undefined : readMoment(from, 'from'),
    to: to === undefined ? undefined : readMoment(to, 'to'),
    jobId: job_id === undefined ? undefined : (readIdFilter(job_id, 'job_id', 'job') as JobId),
  };
}

interface QuantileFacts {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const quantiles = z
  .strictObject({ p50: z.number(), p95: z.number(), p99: z.number() })
  .nullable()
  .describe('Within 5 %. null: nothing was measured.');
const quantilesView = (facts: QuantileFacts | undefined) =>
  facts ? { p50: facts.p50, p95: facts.p95, p99: facts.p99 } : null;

interface BucketFacts {
  readonly atMs: number;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly retried: number;
  readonly lost: number;
  readonly startDelayMs: QuantileFacts | undefined;
  readonly durationMs: QuantileFacts | undefined;
}

const { answer: bucketAnswer, view: bucketView } = answerOf<BucketFacts>('StatsBucket')({
  at: [instant.describe('When it begins.'), (bucket) => instantText(bucket.atMs)],
  started: [
    z.int().describe('Attempts that had started, and ended in this bucket.'),
    (bucket) => bucket.started,
  ],
  succeeded: [z.int(), (bucket) => bucket.succeeded],
  failed: [z.int().describe('Attempts, not runs: one that is tried again counts too.'), (b) => b.failed],
  timed_out: [z.int(), (bucket) => bucket.timedOut],
  cancelled: [z.int(), (bucket) => bucket.cancelled],
  skipped: [z.int().describe('Occurrences that did not run.'), (bucket) => bucket.skipped],
  retried: [z.int().describe('Attempts that failed and are tried again.'), (bucket) => bucket.retried],
  lost: [z.int().describe('Attempts whose worker fell silent.'), (bucket) => bucket.lost],
  start_delay_ms: [
    quantiles.describe(
      'From when it should have started, with the spread of its schedule, to its start. Left out: retries, what was redriven or run again, runs taken over from a lost worker, and runs that waited for a slot of their job. Contained: the wait for a worker that offers the handler. null: not measured.',
    ),
    (bucket) => quantilesView(bucket.startDelayMs),
  ],
  duration_ms: [quantiles, (bucket) => quantilesView(bucket.durationMs)],
});

interface StatsFacts {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucket: 'minute' | 'hour';
  readonly buckets: readonly BucketFacts[];
}

export const { answer: statsAnswer, view: statsView } = answerOf<StatsFacts>('Stats')({
  from: [instant.describe('The beginning of the first bucket.'), (stats) => instantText(stats.fromMs)],
  to: [instant, (stats) => instantText(stats.toMs)],
  bucket: [z.enum(['minute', 'hour']), (stats) => stats.bucket],
  buckets: [
    z.array(bucketAnswer).describe('In order; those in which nothing ended are left out.'),
    (stats) => stats.buckets.map(bucketView),
  ],
});

interface NowFacts {
  readonly asOfMs: number;
  readonly running: number | undefined;
  readonly slots: number | undefined;
  readonly workers: number | undefined;
  readonly oldestWaitingAtMs: number | undefined;
  readonly waitingAtLeast: number;
  readonly unofferedHandlers: readonly string[];
  readonly startDelayMs: QuantileFacts | undefined;
  readonly failedLastHour: number;
  readonly openDeadLetters: number | undefined;
}

export const { answer: statsNowAnswer, view: statsNowView } = answerOf<NowFacts>('StatsNow')({
  as_of: [instant, (now) => instantText(now.asOfMs)],
  running: [
    z
      .int()
      .nullable()
      .describe('Runs that workers hold, of the whole installation. null: you may not read workers.'),
    (now) => now.running ?? null,
  ],
  slots: [
    z.int().nullable().describe('Of living workers that take runs. null: you may not read workers.'),
    (now) => now.slots ?? null,
  ],
  workers: [
    z.int().nullable().describe('Living ones. null: you may not read workers.'),
    (now) => now.workers ?? null,
  ],
  oldest_waiting_at: [
    instant
      .nullable()
      .describe('Since when the run that waits for longest could have started. null: none waits.'),
    (now) => instantText(now.oldestWaitingAtMs),
  ],
  waiting_at_least: [
    z
      .int()
      .describe(
        'Runs that could start and wait for a worker, also where none offers their handler; counting ends at 1,000.',
      ),
    (now) => now.waitingAtLeast,
  ],
  unoffered_handlers: [
    z.array(z.string()).describe('Handlers of runs that wait which no living worker offers; at most ten.'),
    (now) => [...now.unofferedHandlers],
  ],
  start_delay_ms: [
    quantiles.describe('Of the last five minutes, as in Stats. null: nothing that is measured started.'),
    (now) => quantilesView(now.startDelayMs),
  ],
  failed_last_hour: [z.int().describe('Attempts that failed or took too long.'), (now) => now.failedLastHour],
  open_dead_letters: [
    z
      .int()
      .nullable()
      .describe(
        'Runs that were given up and that nobody has handled; counting ends at 100. null: you may not read them.',
      ),
    (now) => now.openDeadLetters ?? null,
  ],
});

interface FailureFacts {
  readonly fingerprint: string;
  readonly namespace: string;
  readonly handler: string | undefined;
  readonly message: string;
  readonly count: number;
  readonly jobs: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly sampleRunId: RunId;
  readonly sampleJobId: JobId;
  readonly sampleJobName: string | undefined;
}

export const { answer: failureAnswer, view: failureView } = answerOf<FailureFacts>('FailureGroup')({
  fingerprint: [
    z
      .string()
      .describe(
        'Of the handler and the error without ids, numbers, times, and paths and queries of addresses. other: errors past 100 groups of an hour.',
      ),
    (group) => group.fingerprint,
  ],
  namespace: [z.string(), (group) => group.namespace],
  handler: [z.string().nullable().describe('null: of several.'), (group) => group.handler ?? null],
  message: [
    z
      .string()
      .describe(
        'The beginning of one of the errors; what it quotes is hidden from those who may not read payloads.',
      ),
    (group) => group.message,
  ],
  count: [z.int().describe('Attempts.'), (group) => group.count],
  jobs: [z.int().describe('Different jobs; of each hour, up to 20 are told apart.'), (group) => group.jobs],
  first_at: [instant, (group) => instantText(group.firstAtMs)],
  last_at: [instant, (group) => instantText(group.lastAtMs)],
  sample_run_id: [z.uuid().describe('A run that failed so, lately.'), (group) => group.sampleRunId],
  sample_job_id: [z.uuid(), (group) => group.sampleJobId],
  sample_job_name: [
    z.string().nullable().describe('null: the job was deleted.'),
    (group) => group.sampleJobName ?? null,
  ],
});
