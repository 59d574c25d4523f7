/**
 * What is counted of runs that end together, as a short text: it is written with their event, in the statement that settles them, and
 * added to the counts later. Runs that are alike share an entry, so a batch of a thousand takes up a few hundred bytes.
 */
import {
  type ClaimedRun,
  type FinalRunStatus,
  isFailure,
  type JobId,
  occurrenceRunId,
  type RunId,
} from '@carillon/domain';
import { errorGroupOf } from './error-group.ts';
import type { Settlement } from './lease-store.ts';
import { BUCKET_MAX, bucketOf } from './log-histogram.ts';

/** What is known of a run when it is claimed: its occurrence, and when it should have started. */
export type CountedRun = Pick<ClaimedRun, 'jobId' | 'runId' | 'handler' | 'nominalAtMs' | 'dueAtMs'>;

/** How an attempt of it ended. */
export type CountedEnd = Pick<Settlement, 'status' | 'startedAtMs' | 'endedAtMs' | 'error' | 'next'>;

/** Attempts that are alike. */
export interface DigestEntry {
  readonly namespaceKey: number;
  readonly handler: string;
  readonly status: FinalRunStatus;
  readonly isRetried: boolean;
  readonly hasStarted: boolean;
  /** Undefined: not measured. */
  readonly delayBucket: number | undefined;
  readonly durationBucket: number | undefined;
  readonly count: number;
  /** Of an occurrence that started late: its job may spread its starts, which is no delay. */
  readonly late?: { readonly jobId: JobId; readonly nominalAtMs: number; readonly delayMs: number };
}

export interface DigestFailure {
  readonly namespaceKey: number;
  readonly handler: string;
  readonly fingerprint: string;
  readonly message: string;
  readonly runId: RunId;
  /** Some of them. */
  readonly jobIds: readonly JobId[];
  readonly count: number;
}

export interface Digest {
  readonly atMs: number;
  readonly entries: readonly DigestEntry[];
  readonly failures: readonly DigestFailure[];
}

/** The text as JSON, by short names: it is written for every batch. A bucket of -1 stands for none. */
interface Stored {
  readonly at: number;
  readonly g: readonly (readonly [namespaceKey: number, handler: string])[];
  /** Flat, FIELDS to an entry: group, status, delay bucket, duration bucket, count. */
  readonly e: readonly number[];
  readonly l?: readonly (readonly [...entry: number[], jobId: string])[];
  readonly f?: readonly (readonly [number, string, string, string, readonly string[], number])[];
}

const FIELDS = 5;
const STATUSES: readonly FinalRunStatus[] = [
  ...(['SUCCESS', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'SKIPPED', 'RETURNED', 'LOST'] as const),
];
const STATUS_CODES = new Map(STATUSES.map((status, code) => [status, code]));
/** Added to the code of a status. */
const RETRIED = 8;
const STARTED = 16;
/** Shorter spreads hardly show. */
export const LATE_MS = 1_000;
const NONE = -1;
/** Different errors of one batch that are told apart, and jobs that are named of each. */
const FAILURES_MAX = 20;
const JOBS_MAX = 20;

/** Keys of entries stay small integers, which are the fastest. One more than there are buckets, for none. */
const BUCKET_SPAN = BUCKET_MAX + 2;
const CODE_SPAN = 32;

export class DigestBuilder {
  readonly #groups = new Map<string, number>();
  /** Runs of a batch mostly are of one group. */
  #last: { namespaceKey: number; handler: string; group: number } | undefined;
  readonly #g: [number, string][] = [];
  readonly #counts = new Map<number, number>();
  #key = NONE;
  #alike = 0;
  readonly #late: [...number[], string][] = [];
  readonly #failures = new Map<
    string,
    { group: number; fingerprint: string; message: string; runId: string; jobIds: Set<string>; count: number }
  >();

  /** Run and end come as they are: an object made of both, for every run there is, would cost more than counting. */
  add(namespaceKey: number, run: CountedRun, end: CountedEnd): void {
    const { status, startedAtMs, error } = end;
    const group = this.#groupOf(namespaceKey, run.handler);
    const isRetried = end.next.kind === 'again' && isFailure(status);
    const hasStarted = startedAtMs !== undefined;
    const code = STATUS_CODES.get(status)! + (isRetried ? RETRIED : 0) + (hasStarted ? STARTED : 0);
    // What startDelayMs measures, spelled out: only first attempts that neither were handed out before, nor repeat another run, nor waited for a slot
    // of their job were due at their nominal instant.
    const delayMs = hasStarted && run.dueAtMs === run.nominalAtMs ? startedAtMs - run.dueAtMs : undefined;
    const duration = hasStarted ? bucketOf(end.endedAtMs - startedAtMs) : NONE;
    if (delayMs !== undefined && delayMs >= LATE_MS && mayBeSpread(run)) {
      this.#late.push([group, code, duration, delayMs, run.nominalAtMs, run.jobId]);
    } else {
      const delay = delayMs === undefined ? NONE : bucketOf(delayMs);
      this.#count(((group * CODE_SPAN + code) * BUCKET_SPAN + delay + 1) * BUCKET_SPAN + duration + 1);
    }
    if (error !== undefined && isFailure(status)) this.#fail(group, run, error);
  }

  text(atMs: number): string {
    this.#flush();
    const e: number[] = [];
    for (const [key, count] of this.#counts) {
      const duration = (key % BUCKET_SPAN) - 1;
      const rest = Math.floor(key / BUCKET_SPAN);
      const delay = (rest % BUCKET_SPAN) - 1;
      const head = Math.floor(rest / BUCKET_SPAN);
      e.push(Math.floor(head / CODE_SPAN), head % CODE_SPAN, delay, duration, count);
    }
    const f = [...this.#failures.values()].map(
      ({ group, fingerprint, message, runId, jobIds, count }) =>
        [group, fingerprint, message, runId, [...jobIds], count] as const,
    );
    const stored: Stored = {
      at: atMs,
      g: this.#g,
      e,
      ...(this.#late.length > 0 && { l: this.#late }),
      ...(f.length > 0 && { f }),
    };
    return JSON.stringify(stored);
  }

  /** Neighbours mostly are alike: those are added at once. */
  #count(key: number): void {
    if (key !== this.#key) this.#flush();
    this.#key = key;
    this.#alike += 1;
  }

  #flush(): void {
    if (this.#alike > 0) this.#counts.set(this.#key, (this.#counts.get(this.#key) ?? 0) + this.#alike);
    this.#alike = 0;
  }

  #groupOf(namespaceKey: number, handler: string): number {
    const last = this.#last;
    if (last?.namespaceKey === namespaceKey && last.handler === handler) return last.group;
    const name = `${namespaceKey}/${handler}`;
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = this.#g.push([namespaceKey, handler]) - 1;
      this.#groups.set(name, group);
    }
    this.#last = { namespaceKey, handler, group };
    return group;
  }

  /** Past the bound they are counted as failed, and told apart no more. */
  #fail(group: number, { handler, runId, jobId }: CountedRun, error: string): void {
    const { fingerprint, message } = errorGroupOf(handler, error);
    const key = `${group}/${fingerprint}`;
    const known = this.#failures.get(key);
    if (known) {
      known.count += 1;
      if (known.jobIds.size < JOBS_MAX) known.jobIds.add(jobId);
    } else if (this.#failures.size < FAILURES_MAX) {
      this.#failures.set(key, { group, fingerprint, message, runId, jobIds: new Set([jobId]), count: 1 });
    }
  }
}

/** Not what a person asked for, nor the only run of a one-off, which has the id of its job. */
function mayBeSpread({ nominalAtMs, runId, jobId }: CountedRun): boolean {
  return (runId as string) !== jobId && runId === occurrenceRunId(jobId, nominalAtMs);
}

export function readDigest(text: string): Digest {
  const { at: atMs, g, e, l = [], f = [] } = JSON.parse(text) as Stored;
  const entry = (
    [group, code]: readonly [number, number],
    measured: Pick<DigestEntry, 'delayBucket' | 'durationBucket' | 'count' | 'late'>,
  ): DigestEntry => ({
    namespaceKey: g[group]![0],
    handler: g[group]![1],
    status: STATUSES[code % RETRIED]!,
    isRetried: (code & RETRIED) !== 0,
    hasStarted: (code & STARTED) !== 0,
    ...measured,
  });
  const bucket = (stored: number) => (stored === NONE ? undefined : stored);
  const entries: DigestEntry[] = [];
  for (let i = 0; i < e.length; i += FIELDS) {
    entries.push(
      entry([e[i]!, e[i + 1]!], {
        delayBucket: bucket(e[i + 2]!),
        durationBucket: bucket(e[i + 3]!),
        count: e[i + 4]!,
      }),
    );
  }
  for (const late of l) {
    const [group, code, duration, delayMs, nominalAtMs] = late.slice(0, FIELDS) as number[];
    entries.push(
      entry([group!, code!], {
        delayBucket: bucketOf(delayMs!),
        durationBucket: bucket(duration!),
        count: 1,
        late: { jobId: late.at(-1) as JobId, nominalAtMs: nominalAtMs!, delayMs: delayMs! },
      }),
    );
  }
  const failures = f.map(([group, fingerprint, message, runId, jobIds, count]) => ({
    namespaceKey: g[group]![0],
    handler: g[group]![1],
    ...{ fingerprint, message, runId: runId as RunId, jobIds: jobIds as JobId[], count },
  }));
  return { atMs, entries, failures };
}
