/**
 * Counts over time, what goes on now, and failures by group. Callers get the counts of the namespaces in which they may read every run:
 * a grant for their own jobs alone counts for nothing here, since counts do not tell whose runs they are of. Whoever reads asks
 * for what has ended since to be counted first, so that answers are as new as the request, and get what is counted where that fails.
 */
import {
  Cache,
  type Caller,
  type Job,
  type JobId,
  type Moment,
  may,
  Refusal,
  requireMay,
  runsShownTo,
  visibleTo,
} from '@carillon/domain';
import { boundFailures, failureGroup, mergeFailures } from '../storage/bound-failures.ts';
import { shownFingerprint } from '../storage/error-group.ts';
import type { Quantiles } from '../storage/log-histogram.ts';
import { countAttempts, RunTally } from '../storage/run-tally.ts';
import {
  BUCKET_MS,
  type Bucket,
  type CountedAttempt,
  type CountedBucket,
  type FailureGroup,
} from '../storage/stats-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { momentMs } from './runs.ts';
import { visibleJob } from './support/visibility.ts';

export interface StatsQuery {
  readonly from?: Moment | undefined;
  readonly to?: Moment | undefined;
  /** Undefined: by the length of the span. */
  readonly bucket?: Bucket | undefined;
  readonly namespace?: string | undefined;
  readonly handler?: string | undefined;
  readonly jobId?: JobId | undefined;
}

export interface Stats {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucket: Bucket;
  readonly buckets: readonly CountedBucket[];
}

export interface StatsNow {
  readonly asOfMs: number;
  /** Of workers: undefined for callers who may not read them. */
  readonly running: number | undefined;
  readonly slots: number | undefined;
  readonly workers: number | undefined;
  readonly oldestWaitingAtMs: number | undefined;
  readonly waitingAtLeast: number;
  readonly unofferedHandlers: readonly string[];
  readonly startDelayMs: Quantiles | undefined;
  readonly failedLastHour: number;
  /** Runs that were given up and wait for somebody. Undefined for callers who may not read them. */
  readonly openDeadLetters: number | undefined;
}

export interface FailuresQuery extends Pick<StatsQuery, 'from' | 'to' | 'namespace' | 'jobId'> {
  readonly limit?: number | undefined;
}

const MINUTE_MS = BUCKET_MS.minute;
const HOUR_MS = BUCKET_MS.hour;
const SPAN_MS = HOUR_MS;
export const BUCKETS_MAX = 2_000;
/** Buckets of all namespaces that an answer is added up from. */
export const COUNT_ROWS_MAX = 20_000;
/** Longer spans are shown by the hour, unless asked otherwise. */
const MINUTES_SPAN_MS = 6 * HOUR_MS;
/** Of a job: what is counted is what it ended last. */
export const JOB_ATTEMPTS_MAX = 2_000;
const FAILURES_SPAN_MS = 24 * HOUR_MS;
const FAILURES_DEFAULT = 50;
const DELAY_SPAN_MS = 5 * MINUTE_MS;
/** Answers are shared for so long. */
const SHARED_MS = 1_000;
const SHARED_MAX = 1_000;
/** Letters are few and seldom, but a list of many that were handled is long: it is read more rarely. */
const LETTERS_SHARED_MS = 2_000;
const LETTERS_MAX = 100;

export function statsOperations(ports: OperationPorts) {
  const { storage, clock, accounts, counter } = ports;
  const { stats, members } = storage;
  const answers = new Cache<string, object>({
    entriesMax: SHARED_MAX,
    expiry: { ttlMs: SHARED_MS, clock },
  });
  /** Whoever asks within the same second shares one answer of the storage. */
  const shared = async <T extends object>(key: string, read: () => Promise<T>): Promise<T> =>
    (await answers.getOrLoad(key, read)) as T;
  const letters = new Cache<string, readonly object[]>({
    entriesMax: SHARED_MAX,
    expiry: { ttlMs: LETTERS_SHARED_MS, clock },
  });
  /** The newest of those that nobody has handled, up to a bound, of what lies within the bound of a list. */
  const openLetters = (namespaces: readonly string[] | undefined) =>
    letters.getOrLoad(JSON.stringify(namespaces ?? null), async () => {
      const visible = namespaces?.map((namespace) => ({ namespace, userId: undefined }));
      return (await storage.runs.deadLetters({ visible, handled: false, limit: LETTERS_MAX })).letters;
    });

  /** Undefined: the whole installation. */
  const readable = async (caller: Caller, namespace: string | undefined) => {
    requireMay(caller, 'runs.read');
    await accounts.namespaces.requireKnown(caller, namespace);
    const visible = visibleTo(caller, 'runs.read');
    if (visible === undefined) return namespace === undefined ? undefined : [namespace];
    const all = new Set(visible.flatMap((grant) => (grant.userId === undefined ? [grant.namespace] : [])));
    return [...all].filter((name) => namespace === undefined || name === namespace).sort();
  };

  return {
    async readStats(caller: Caller, query: StatsQuery = {}): Promise<Stats> {
      const span = spanOf(query, clock.now(), SPAN_MS);
      const { jobId, handler } = query;
      if (jobId !== undefined) {
        if (handler !== undefined)
          throw new Refusal('field_invalid', 'handler is the one of the job: leave out one of the two.', {
            field: 'handler',
          });
        const job = await visibleJob(ports, { caller, jobId, action: 'runs.read' });
        return jobStats(job, await attemptsOf(ports, jobId, span), span);
      }
      const namespaces = await readable(caller, query.namespace);
      await counter.countSoon();
      const bounded = boundedSpan(span, query, { namespaces, nowMs: clock.now() });
      const { bucket, fromMs, toMs } = bounded;
      const key = JSON.stringify(['stats', bucket, fromMs, toMs, namespaces, handler]);
      const buckets = await shared(key, () => stats.counts({ bucket, fromMs, toMs, namespaces, handler }));
      return { ...bounded, buckets };
    },

    async readStatsNow(
      caller: Caller,
      { namespace }: { namespace?: string | undefined } = {},
    ): Promise<StatsNow> {
      const namespaces = await readable(caller, namespace);
      await counter.countSoon();
      const now = await shared(JSON.stringify(['now', namespaces]), () => nowOf(ports, namespaces));
      const openDeadLetters = may(caller, 'dead_letters.read')
        ? (await openLetters(namespaces)).length
        : undefined;
      if (!may(caller, 'workers.read'))
        return { ...now, openDeadLetters, running: undefined, slots: undefined, workers: undefined };
      const capacity = await shared('capacity', () => capacityOf(members));
      return { ...now, openDeadLetters, ...capacity };
    },

    async listFailures(caller: Caller, query: FailuresQuery = {}): Promise<FailureGroup[]> {
      const span = spanOf({ ...query, bucket: 'hour' }, clock.now(), FAILURES_SPAN_MS);
      const { limit = FAILURES_DEFAULT, jobId } = query;
      const key = await stats.fingerprintKey();
      const shown = (groups: readonly FailureGroup[]) =>
        groups.map((group) => shownTo(caller, group, { key }));
      if (jobId !== undefined) {
        const job = await visibleJob(ports, { caller, jobId, action: 'runs.read' });
        const attempts = await attemptsOf(ports, jobId, span);
        const groups = groupsOf(attempts, { job, limit });
        return groups.map((group) => shownTo(caller, group, { key, userId: job.userId }));
      }
      const namespaces = await readable(caller, query.namespace);
      await counter.countSoon();
      const { fromMs, toMs } = span;
      const asked = JSON.stringify(['failures', fromMs, toMs, namespaces, limit]);
      return shown(await shared(asked, () => stats.failures({ fromMs, toMs, namespaces, limit })));
    },
  };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bucket: Bucket;
}

/** Whole buckets: the first is the one that `from` lies in. */
function spanOf(
  { from, to, bucket: wanted }: Pick<StatsQuery, 'from' | 'to' | 'bucket'>,
  nowMs: number,
  defaultMs: number,
): Span {
  const toMs = momentMs(to, nowMs) ?? nowMs;
  const fromMs = momentMs(from, nowMs) ?? toMs - defaultMs;
  if (fromMs >= toMs) throw new Refusal('field_invalid', 'from must be before to.', { field: 'from' });
  const bucket = wanted ?? (toMs - fromMs <= MINUTES_SPAN_MS ? 'minute' : 'hour');
  const size = BUCKET_MS[bucket];
  // The bucket of now is not over, and never left out.
  const endMs = to === undefined ? toMs + 1 : toMs;
  const span = { fromMs: Math.floor(fromMs / size) * size, toMs: Math.ceil(endMs / size) * size, bucket };
  if (bucketsOf(span) <= BUCKETS_MAX) return span;
  const message = `from and to are more than ${BUCKETS_MAX} buckets apart: ask for a shorter span${bucket === 'minute' ? ', or bucket=hour' : ''}.`;
  throw new Refusal('field_invalid', message, { field: 'from' });
}

/** Rows are read by namespace and bucket: many minutes of many namespaces are read by the hour, unless asked otherwise. */
function boundedSpan(
  span: Span,
  query: StatsQuery,
  { namespaces, nowMs }: { namespaces: readonly string[] | undefined; nowMs: number },
): Span {
  if (rowsOf(span, namespaces) <= COUNT_ROWS_MAX) return span;
  const hours = query.bucket === undefined ? spanOf({ ...query, bucket: 'hour' }, nowMs, SPAN_MS) : span;
  if (rowsOf(hours, namespaces) <= COUNT_ROWS_MAX) return hours;
  const message = `${namespaces!.length} namespaces and ${bucketsOf(hours)} buckets are more than can be read at once (${COUNT_ROWS_MAX} together): ask for one namespace, a shorter span${hours.bucket === 'minute' ? ', or bucket=hour' : ''}.`;
  throw new Refusal('field_invalid', message, { field: 'from' });
}

function bucketsOf({ fromMs, toMs, bucket }: Span): number {
  return (toMs - fromMs) / BUCKET_MS[bucket];
}

function rowsOf(span: Span, namespaces: readonly string[] | undefined): number {
  return bucketsOf(span) * (namespaces?.length ?? 1);
}

function attemptsOf(ports: OperationPorts, jobId: JobId, { fromMs, toMs }: Span): Promise<CountedAttempt[]> {
  return ports.storage.stats.attemptsOfJob(jobId, { fromMs, toMs, limit: JOB_ATTEMPTS_MAX });
}

/** Where there are more attempts than are counted, the span begins with the oldest of them. */
function jobStats(
  job: Pick<Job, 'jobId' | 'schedule'>,
  attempts: readonly CountedAttempt[],
  span: Span,
): Stats {
  const buckets = countAttempts(job, attempts, span.bucket);
  const isCut = attempts.length === JOB_ATTEMPTS_MAX && buckets[0] !== undefined;
  return { ...span, fromMs: isCut ? buckets[0]!.atMs : span.fromMs, buckets };
}

function groupsOf(
  attempts: readonly CountedAttempt[],
  { job: { jobId, namespace, handler, name }, limit }: { job: Job; limit: number },
): FailureGroup[] {
  const tally = new RunTally();
  for (const { status, ...attempt } of attempts.toReversed())
    tally.addRecord({
      ...{ ...attempt, jobId, namespace, handler, delayMs: undefined },
      status: status as Parameters<RunTally['addRecord']>[0]['status'],
    });
  const rows = boundFailures(tally.failures(), new Map());
  return mergeFailures(rows, limit).map((row) => failureGroup(row, name));
}

/** What errors quote is as secret as payloads; of those that are not shown, the fingerprint tells nothing either. */
function shownTo(
  caller: Caller,
  group: FailureGroup,
  { key, userId }: { key: string; userId?: string | undefined },
): FailureGroup {
  const { namespace, message: error } = group;
  const [shown] = runsShownTo(caller, { namespace, userId }, [{ error }]);
  return { ...group, fingerprint: shownFingerprint(key, group), message: shown!.error! };
}

type Capacity = Pick<StatsNow, 'running' | 'slots' | 'workers'>;

async function nowOf(
  { storage: { stats }, clock }: OperationPorts,
  namespaces: readonly string[] | undefined,
): Promise<Omit<StatsNow, keyof Capacity | 'openDeadLetters'>> {
  const nowMs = clock.now();
  const since = (spanMs: number) => {
    const span = { fromMs: nowMs - spanMs, toMs: nowMs + MINUTE_MS };
    const isFew = rowsOf({ ...span, bucket: 'minute' }, namespaces) <= COUNT_ROWS_MAX;
    return { ...span, bucket: isFew ? 'minute' : 'hour', namespaces, together: true } as const;
  };
  const [{ oldestAtMs, waiting, unofferedHandlers }, [recent], [hour]] = await Promise.all([
    stats.waitingNow({ nowMs, namespaces }),
    stats.counts(since(DELAY_SPAN_MS)),
    stats.counts(since(HOUR_MS)),
  ]);
  return {
    asOfMs: nowMs,
    oldestWaitingAtMs: oldestAtMs,
    waitingAtLeast: waiting,
    unofferedHandlers,
    startDelayMs: recent?.startDelayMs,
    failedLastHour: (hour?.failed ?? 0) + (hour?.timedOut ?? 0),
  };
}

/** Leases are few: one for each batch that workers hold. */
async function capacityOf(members: OperationPorts['storage']['members']): Promise<Capacity> {
  const [workers, held] = await Promise.all([members.workers(), members.leasedRuns()]);
  const alive = workers.filter((worker) => worker.alive);
  return {
    running: [...held.values()].reduce((sum, runs) => sum + runs, 0),
    slots: alive.reduce((sum, { slots, draining }) => sum + (draining ? 0 : slots), 0),
    workers: alive.length,
  };
}
