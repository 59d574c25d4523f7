/**
 * Counts of runs over time, by minute and by hour, and groups of failures. Every attempt that ends is counted exactly once, some
 * seconds later: what is to be counted is recorded with the end of the run, and adding it to the counts moves a cursor in the same
 * transaction. Reading counts costs the same however many runs there are.
 */
import type { JobId, RunId, RunTrigger } from '@carillon/domain';
import type { Quantiles } from './log-histogram.ts';

export type Bucket = 'minute' | 'hour';
export const BUCKET_MS: Record<Bucket, number> = { minute: 60_000, hour: 3_600_000 };

/** Of attempts that ended in a bucket of time. */
export const COUNTS = [
  'started',
  'succeeded',
  'failed',
  'timedOut',
  'cancelled',
  /** Occurrences that did not run. */
  'skipped',
  /** Failed, and tried again. */
  'retried',
  /** Their worker fell silent. */
  'lost',
] as const;
export type CountName = (typeof COUNTS)[number];
export type Counts = Record<CountName, number>;

export interface CountedBucket extends Counts {
  readonly atMs: number;
  readonly startDelayMs: Quantiles | undefined;
  readonly durationMs: Quantiles | undefined;
}

export interface CountsQuery {
  readonly bucket: Bucket;
  /** Buckets that begin from then on, and before the end. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined: of the whole installation. */
  readonly namespaces: readonly string[] | undefined;
  /** Undefined: of all of them together. */
  readonly handler?: string | undefined;
  /** As one bucket, which begins with the span. */
  readonly together?: boolean;
}

export interface FailureGroup {
  readonly fingerprint: string;
  /** Undefined: the errors that have no group of their own, of any handler. */
  readonly handler: string | undefined;
  readonly namespace: string;
  /** The beginning of one of its errors. */
  readonly message: string;
  readonly count: number;
  /** Different jobs, up to JOBS_COUNTED_MAX of each hour. */
  readonly jobs: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly sampleRunId: RunId;
  readonly sampleJobId: JobId;
  /** Undefined: the job was deleted. */
  readonly sampleJobName: string | undefined;
}

export interface FailuresQuery {
  readonly fromMs: number;
  readonly toMs: number;
  readonly namespaces: readonly string[] | undefined;
  readonly limit: number;
}

/** An attempt of a job, to be counted by itself. */
export interface CountedAttempt {
  readonly runId: RunId;
  readonly status: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly trigger: RunTrigger;
  readonly isRepeat: boolean;
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly recordedAtMs: number;
  readonly error: string | undefined;
  readonly occurrences: number;
  /** It failed, and is tried again. */
  readonly isRetried: boolean;
}

export interface WaitingNow {
  /** When the run that waits for longest could have started; undefined: none waits. */
  readonly oldestAtMs: number | undefined;
  /** Counting ends at WAITING_SEEN_MAX. */
  readonly waiting: number;
  /** Handlers of those that wait that no living worker offers, by name; at most UNOFFERED_SEEN_MAX. */
  readonly unofferedHandlers: readonly string[];
}

export const UNOFFERED_SEEN_MAX = 10;

/** Groups of one namespace and hour; the errors past them share one. */
export const GROUPS_PER_HOUR_MAX = 100;
export const JOBS_COUNTED_MAX = 20;
export const WAITING_SEEN_MAX = 1_000;

export interface StatsStore {
  /**
   * Adds what ended since the last call to the counts, a bounded number at a time, whichever server calls. Answers whether there is
   * more. Of several calls at once, one has an effect.
   */
  countEnded(options: { readonly nowMs: number }): Promise<{ readonly more: boolean }>;
  /** In order; those of which nothing ended are left out. Namespaces that do not exist any more count in the whole only. */
  counts(query: CountsQuery): Promise<CountedBucket[]>;
  /**
   * The most frequent first. Hours that the span touches are counted as a whole. What a job that was removed has said is not quoted.
   * Fingerprints are as they are stored: everybody can compute them from a guess.
   */
  failures(query: FailuresQuery): Promise<FailureGroup[]>;
  /** What fingerprints are shown by: a secret of the installation, the same on every server. */
  fingerprintKey(): Promise<string>;
  /** The latest attempts of the job that have ended, at most limit. */
  attemptsOfJob(
    jobId: JobId,
    query: { readonly fromMs: number; readonly toMs: number; readonly limit: number },
  ): Promise<CountedAttempt[]>;
  /** Runs that may start now and are not claimed; namespaces undefined: all. */
  waitingNow(options: {
    readonly nowMs: number;
    readonly namespaces: readonly string[] | undefined;
  }): Promise<WaitingNow>;
  /** Removes minutes and hours that are older, a bounded number at a time; answers how many. */
  dropCounts(options: { readonly minutesBeforeMs: number; readonly hoursBeforeMs: number }): Promise<number>;
}
