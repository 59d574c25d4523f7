/**
 * What a large store holds, computed from an index: the jobs, and the runs of the past four weeks. Nothing is random, so that answers
 * can be checked against what was put in. Recurring jobs come first and have most of the runs, a few of them very many; the other jobs
 * run once, the latest of them in the future.
 */
import type { JobId, RunId } from '../../packages/domain/src/ids.ts';
import type { FinalRunStatus } from '../../packages/domain/src/index.ts';

const dayMs = 24 * 3_600_000;
/** Within the retention of 30 days, or the engine would rightly drop it when it starts. */
export const historyDays = 28;

export const namespaces = ['default', 'shop', 'billing', 'search', 'tiny'] as const;
export const handlers = ['noop', 'mail', 'report', 'sync', 'rare'] as const;
export const statuses: readonly FinalRunStatus[] = [
  'SUCCESS',
  'FAILED',
  'TIMED_OUT',
  'CANCELLED',
  'SKIPPED',
  'LOST',
];
export const workerCount = 40;
const userCount = 500;
/** One owner has a tenth of all jobs. */
export const busyUser = userOf(0);
export const errors = Array.from({ length: 60 }, (_, i) =>
  i % 2 === 0
    ? `connect ECONNREFUSED of the ${wordOf(i)} service`
    : `the ${wordOf(i)} could not be written: no space left`,
);
/** What every error ends with: numbers differ from run to run, and the group is the same. */
export const errorEnd = (run: number) => ` (request ${run})`;

export type JobKind = 'recurring' | 'paused' | 'ended' | 'cancelled' | 'future';

export type PlannedJob = {
  readonly jobId: JobId;
  readonly kind: JobKind;
  readonly name: string;
  readonly namespace: number;
  readonly handler: number;
  readonly userId: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly createdMs: number;
};

export type PlannedRun = {
  readonly runId: RunId;
  readonly job: number;
  readonly status: number;
  readonly attempt: number;
  readonly worker: number;
  /** Claimed and started. */
  readonly startedMs: number;
  readonly delayMs: number;
  readonly durationMs: number;
  /** -1: none. */
  readonly error: number;
  readonly isRetried: boolean;
  /** Given up: there is a dead letter. */
  readonly isDead: boolean;
};

export class PlannedStore {
  readonly jobs: number;
  readonly runs: number;
  readonly recurring: number;
  /** Jobs that have very many runs each. */
  readonly hot: number;
  readonly nowMs: number;
  readonly beginMs: number;
  readonly #known: PlannedJob[] = [];

  constructor({ jobs, runs, nowMs }: { jobs: number; runs: number; nowMs: number }) {
    this.jobs = jobs;
    this.runs = runs;
    this.recurring = Math.max(20, Math.floor(jobs / 50));
    this.hot = Math.max(2, Math.floor(this.recurring / 200));
    this.nowMs = nowMs;
    this.beginMs = nowMs - historyDays * dayMs;
  }

  job(index: number): PlannedJob {
    if (index >= this.recurring) return this.#compute(index);
    // They have most of the runs.
    this.#known[index] ??= this.#compute(index);
    return this.#known[index];
  }

  #compute(index: number): PlannedJob {
    const isRecurring = index < this.recurring;
    const createdMs = isRecurring
      ? this.beginMs - dayMs + Math.floor((index * dayMs) / this.recurring)
      : this.#instant((index - this.recurring) / (this.jobs - this.recurring));
    const chance = mix(index * 3 + 1);
    return {
      jobId: idOf(createdMs, index, 0xa) as JobId,
      kind: this.#kindOf(index),
      name: isRecurring ? `${wordOf(index)} ${index}` : `${wordOf(chance)} once`,
      namespace: namespaceOf(chance % 1_000),
      handler: handlerOf((chance >>> 10) % 100),
      userId: ownerOf((chance >>> 4) % 1_000),
      labels: chance % 2 === 0 ? labelsOf(index, chance) : undefined,
      createdMs,
    };
  }

  run(n: number): PlannedRun {
    const isRetry = n > 0 && this.#isRetried(n - 1);
    const first = isRetry ? n - 1 : n;
    const job = this.#jobOfRun(first);
    const chance = mix(n * 7 + 5);
    const status = isRetry ? 0 : statusOf(chance % 1_000);
    const startedMs = this.#instant(n / this.runs);
    const isFailed = status === 1 || status === 2;
    const isOnce = job >= this.recurring;
    return {
      runId: (isOnce ? this.job(job).jobId : idOf(this.#instant(first / this.runs), first, 0xb)) as RunId,
      job,
      status,
      attempt: isRetry ? 2 : 1,
      worker: (chance >>> 8) % workerCount,
      startedMs,
      delayMs: (chance >>> 12) % 100 === 0 ? 2_500 : (chance >>> 12) % 40,
      durationMs: ((chance >>> 6) % 64) ** 2,
      error: isFailed ? errorOf(chance >>> 3) : -1,
      isRetried: this.#isRetried(n),
      isDead: isFailed && !this.#isRetried(n) && (chance >>> 16) % 4 === 0,
    };
  }

  worker(index: number): string {
    return `host-${index}.1.1`;
  }

  /** A failure that was tried again: the next run of the plan is its second attempt. */
  #isRetried(n: number): boolean {
    if (n < 0 || n + 1 >= this.runs || statusOf(mix(n * 7 + 5) % 1_000) !== 1) return false;
    return (mix(n * 7 + 5) >>> 18) % 2 === 0 && !this.#isRetried(n - 1);
  }

  /** Each job that ended ran about when it was made; all other runs are of recurring jobs. */
  #jobOfRun(n: number): number {
    const perJob = this.runs / (this.jobs - this.recurring);
    const once = this.recurring + Math.floor(n / perJob);
    const isFirst = Math.floor((n - 1) / perJob) !== Math.floor(n / perJob);
    // A retry takes the next number: a job that runs once must not be meant by it as well.
    if (isFirst && once < this.jobs && this.#kindOf(once) === 'ended' && !this.#isRetried(n - 1)) return once;
    const chance = mix(n * 11 + 2);
    return (chance >>> 20) % 2 === 0 ? chance % this.hot : chance % this.recurring;
  }

  #kindOf(index: number): JobKind {
    if (index < this.recurring) return index >= this.hot && index % 20 === 7 ? 'paused' : 'recurring';
    if (index % 10 === 3) return 'future';
    return index % 100 === 5 ? 'cancelled' : 'ended';
  }

  #instant(share: number): number {
    return Math.floor(this.beginMs + share * (this.nowMs - this.beginMs));
  }
}

/** Of 32 bits, well spread. */
function mix(value: number): number {
  let t = (value + 0x6d2b79f5) >>> 0;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (t ^ (t >>> 14)) >>> 0;
}

/** Version 7: in the order of time, as the engine makes them. */
function idOf(ms: number, index: number, kind: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const chance = mix(index + kind)
    .toString(16)
    .padStart(8, '0');
  const end = kind.toString(16) + index.toString(16).padStart(11, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${chance.slice(0, 3)}-8${chance.slice(3, 6)}-${end}`;
}

function namespaceOf(of1000: number): number {
  return of1000 < 600 ? 0 : of1000 < 800 ? 1 : of1000 < 950 ? 2 : of1000 < 999 ? 3 : 4;
}

function handlerOf(of100: number): number {
  return of100 < 50 ? 0 : of100 < 75 ? 1 : of100 < 90 ? 2 : of100 < 99 ? 3 : 4;
}

/** Of failures one in four is of the most frequent kind. */
function errorOf(chance: number): number {
  return chance % 4 === 0 ? 0 : (chance >>> 2) % errors.length;
}

function statusOf(of1000: number): number {
  if (of1000 < 950) return 0;
  if (of1000 < 980) return 1;
  return of1000 < 985 ? 2 : of1000 < 990 ? 3 : of1000 < 998 ? 4 : 5;
}

function ownerOf(of1000: number): string | undefined {
  if (of1000 < 300) return undefined;
  return of1000 < 400 ? busyUser : userOf(1 + (of1000 % (userCount - 1)));
}

function userOf(index: number): string {
  return `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
}

function labelsOf(index: number, chance: number): Record<string, string> {
  return {
    team: `team-${(chance >>> 5) % 20}`,
    env: (chance >>> 9) % 4 === 0 ? 'staging' : 'production',
    release: `r${index % 50_000}`,
  };
}

function wordOf(index: number): string {
  const words = [
    'invoice',
    'backup',
    'cache',
    'export',
    'index',
    'mail',
    'orders',
    'prices',
    'report',
    'stock',
  ];
  return `${words[index % 10]}-${words[Math.floor(index / 10) % 10]}`;
}
