/** Makes the next call of a sequence, mostly one that can happen in the state the storage is in, sometimes one that comes too late. */
import type { DeadReason, Job, JobId, LeaseId, NodeId, RunId, WorkerId } from '@carillon/domain';
import type { SeededRandom } from '@carillon/foundation';
import type { FirstDue, NewRun } from '../../due.ts';
import type { NewJob } from '../../job-store.ts';
import { LANE_START } from '../../lane.ts';
import type { LeasedRun } from '../../lease-store.ts';
import type { Storage } from '../../storage.ts';
import { pickOf } from '../claim-runs.ts';
import { EVERY_MINUTE, sampleJob } from '../sample-job.ts';
import { MINUTE_MS } from '../storage-under-test.ts';
import type { Action, Call, ChangeCall, FireCall, GuardChoice, SettleCall } from './call.ts';

const JOBS_MAX = 4;
const DEAD_REASONS: readonly DeadReason[] = ['retries_exhausted', 'not_retryable', 'deadline_passed'];

export class RandomCalls {
  readonly jobIds: JobId[] = [];
  readonly #random: SeededRandom;
  /** Looked at to choose what is likely to do something. */
  readonly #storage: Storage;
  readonly #workers: readonly WorkerId[];
  readonly #runIds: RunId[] = [];
  /** Jobs of one sequence often share a policy, so that more of what it does happens in it. */
  readonly #overlaps: readonly Job['overlap'][];
  #nowMs: number;

  constructor(options: {
    random: SeededRandom;
    storage: Storage;
    workers: readonly WorkerId[];
    startMs: number;
  }) {
    this.#random = options.random;
    this.#storage = options.storage;
    this.#workers = options.workers;
    this.#nowMs = options.startMs;
    this.#overlaps = this.#pick([
      ['queue', 'skip', 'replace'],
      ['queue', 'skip', 'replace'],
      ['replace'],
      ['queue'],
    ]);
  }

  async next(): Promise<Call> {
    this.#nowMs += this.#step();
    return { ...(await this.#action()), nowMs: this.#nowMs };
  }

  #step(): number {
    if (this.#chance(0.3)) return 0;
    if (this.#chance(0.06)) return -this.#below(8_000);
    return this.#chance(0.1) ? this.#below(3 * MINUTE_MS) : this.#below(4_000);
  }

  async #action(): Promise<Action> {
    if (this.jobIds.length === 0) return this.#insert();
    const makers: readonly (readonly [number, () => Action | Promise<Action>])[] = [
      [this.jobIds.length < JOBS_MAX ? 8 : 1, () => this.#insert()],
      [12, () => this.#change()],
      [6, () => this.#enqueue()],
      [1, () => ({ do: 'remove', jobId: this.#jobId() })],
      [3, async () => ({ do: 'cancelRun', runId: await this.#knownRun() })],
      [12, () => this.#fire()],
      [10, () => ({ do: 'admit', jobIds: this.#someJobs(), guard: this.#guard() })],
      [5, () => ({ do: 'replace', jobIds: this.#someJobs(), guard: this.#guard() })],
      [2, () => ({ do: 'reconcile', guard: this.#guard() })],
      [2, () => ({ do: 'expire', guard: this.#guard() })],
      [1, () => this.#expireUnoffered()],
      [8, () => this.#claimLanes()],
      [8, () => this.#claimRuns()],
      [16, () => this.#settle()],
      [2, async () => ({ do: 'cancelRuns', runIds: await this.#someLeased() })],
      [4, async () => ({ do: 'showRunning', runIds: await this.#someLeased() })],
      [2, async () => this.#recordLate()],
      [3, async () => ({ do: 'redrive', runId: await this.#deadRun(), as: this.#newRun() })],
      [1, async () => ({ do: 'attempts', runId: await this.#knownRun() })],
      [1, () => ({ do: 'onWorker', workerId: this.#pick(this.#workers) })],
      // The first stays alive: without it nothing more would be claimed.
      [0.5, () => ({ do: this.#chance(0.4) ? 'markDead' : 'register', workerId: this.#workers.at(-1)! })],
      [1, () => ({ do: 'changeHands', nodeId: this.#random.id() as NodeId })],
      [0.5, () => ({ do: 'beginGeneration' })],
    ];
    let at = this.#random.next() * makers.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of makers) {
      at -= weight;
      if (at < 0) return make();
    }
    return this.#insert();
  }

  #insert(): Action {
    const jobs = Array.from({ length: 1 + this.#below(2) }, () => this.#newJob());
    return { do: 'insert', jobs, whole: this.#chance(0.3) };
  }

  #newJob(): NewJob {
    const jobId = this.#random.id() as JobId;
    this.jobIds.push(jobId);
    const isRecurring = this.#chance(0.6);
    const namespace = this.#chance(0.04) ? 'nowhere' : this.#pick(['default', 'default', 'team']);
    const job = sampleJob({
      jobId,
      ...this.#terms(),
      namespace,
      createdAtMs: this.#nowMs,
      updatedAtMs: this.#nowMs,
      schedule: isRecurring ? EVERY_MINUTE : { type: 'IMMEDIATE' },
      labels: this.#chance(0.2) ? { team: 'blue' } : {},
      // By its id, so that the sequences of a seed stay what they are.
      key: /[0-3]$/.test(jobId) ? `k${jobId.slice(-1)}` : undefined,
    });
    const key = { key: `key ${this.#below(4)}`, requestHash: `hash ${this.#below(2)}` };
    return { job, first: this.#first(isRecurring), idempotency: this.#chance(0.25) ? key : undefined };
  }

  #terms(): Pick<
    Job,
    'priority' | 'maxConcurrency' | 'overlap' | 'startTimeoutMs' | 'handler' | 'userId' | 'timeoutMs'
  > {
    return {
      priority: this.#pick(['low', 'medium', 'high']),
      maxConcurrency: 1 + this.#below(3),
      overlap: this.#pick(this.#overlaps),
      startTimeoutMs: this.#chance(0.3) ? 1 + this.#below(40_000) : undefined,
      handler: this.#pick(['http', 'http', 'script']),
      userId: this.#pick([undefined, 'ann', 'bob']),
      timeoutMs: 1_000 * (1 + this.#below(3)),
    };
  }

  #first(isRecurring: boolean): FirstDue {
    const atMs = this.#nowMs + (this.#chance(0.7) ? 0 : this.#below(20_000));
    if (isRecurring) return { kind: 'cursor', cursor: { nominalAtMs: atMs, fireAtMs: atMs + 1 } };
    const run = { fireAtMs: atMs, nominalAtMs: atMs, trigger: 'once', endsJob: true } as const;
    return { kind: 'run', run: { runId: this.#newRun(), ...run } };
  }

  async #change(): Promise<Action> {
    const jobId = this.#jobId();
    const isPaused = (await this.#storage.jobs.get(jobId))?.status === 'PAUSED';
    const base = { jobId, isStale: this.#chance(0.05) };
    const over = this.#chance(0.7) ? this.#terms() : {};
    const kind = this.#pick([
      'keep',
      'keep',
      'replan',
      'replan',
      isPaused ? 'release' : 'hold',
      'drop',
    ] as const);
    if (kind !== 'replan') {
      if (kind === 'drop' && this.#chance(0.7)) return this.#change();
      return { do: 'change', change: { ...base, kind, over: kind === 'keep' ? over : {} } };
    }
    const isRecurring = this.#chance(0.5);
    const schedule: Job['schedule'] = isRecurring ? EVERY_MINUTE : { type: 'IMMEDIATE' };
    const first = this.#chance(0.05) ? undefined : this.#first(isRecurring);
    const change: ChangeCall = { ...base, kind, over, schedule, first };
    return { do: 'change', change };
  }

  async #enqueue(): Promise<Action> {
    const atMs = this.#nowMs + (this.#chance(0.8) ? 0 : this.#below(5_000));
    const isOnce = this.#chance(0.5);
    const runId = isOnce && this.#chance(0.4) ? await this.#knownRun() : this.#newRun();
    const run: NewRun = { runId, fireAtMs: atMs, nominalAtMs: atMs - 5, trigger: 'manual', endsJob: false };
    return { do: isOnce ? 'enqueueOnce' : 'enqueue', jobId: this.#jobId(), run };
  }

  #fire(): Action {
    const fires = this.#someJobs().map((jobId): FireCall => {
      const isEnd = this.#chance(0.12);
      const hasSkipped = this.#chance(0.15);
      const count = this.#pick([0, 1, 1, 1, 1, 2, 3]);
      return {
        jobId,
        isStale: this.#chance(0.05),
        runs: Array.from({ length: count }, () => this.#newRun()),
        skipped: hasSkipped
          ? [
              {
                runId: this.#newRun(),
                reason: this.#pick(['paused', 'misfire', 'skipped by "ada"']),
                count: 1 + this.#below(4),
              },
            ]
          : [],
        nextInMs: isEnd ? undefined : 100 + this.#below(MINUTE_MS),
      };
    });
    return { do: 'fire', fires, guard: this.#guard() };
  }

  #expireUnoffered(): Action {
    const beforeMs = this.#nowMs - this.#below(20_000);
    return { do: 'expireUnoffered', beforeMs, guard: this.#guard() };
  }

  async #claimLanes(): Promise<Action> {
    const heads = await this.#storage.leases.lanes({ after: undefined, limit: 100 });
    const lanes = heads
      .filter(() => this.#chance(0.7))
      .map(({ part, priority, handlerKey, tenant, laneAtMs, runId }) => ({
        lane: { part, priority, handlerKey, tenant },
        after: this.#chance(0.85) ? LANE_START : { laneAtMs, runId },
        runsMax: 1 + this.#below(4),
      }));
    if (lanes.length === 0) return this.#claimRuns();
    return { do: 'claim', ...this.#lease(), lanes, runsMax: 1 + this.#below(6) };
  }

  async #claimRuns(): Promise<Action> {
    const pending = [];
    for (const jobId of this.#someJobs())
      for (const runId of await this.#pendingOf(jobId)) pending.push({ jobId, runId });
    const runs = this.#chance(0.7) ? pending : pending.filter(() => this.#chance(0.5));
    return { do: 'claim', ...this.#lease(), ...(await pickOf(this.#storage, runs)) };
  }

  #lease() {
    return { leaseId: this.#random.id() as LeaseId, workerId: this.#pick(this.#workers) };
  }

  async #settle(): Promise<Action> {
    const held = await this.#storage.leases.leasedBy(this.#workers);
    const leaseId = this.#pick(held)?.leaseId;
    const isWhole = this.#chance(0.35);
    const chosen = isWhole
      ? held.filter((run) => run.leaseId === leaseId)
      : held.filter(() => this.#chance(0.4)).slice(0, 4);
    const settlements = chosen.map((run) => this.#settleOne(run, { isPlain: isWhole && this.#chance(0.8) }));
    if (this.#chance(0.15)) {
      const runId = this.#chance(0.5) && chosen[0] ? chosen[0].runId : await this.#knownRun();
      settlements.push(
        this.#settleOne({ runId, attempt: 1, crashes: 0 }, { isPlain: false, ago: this.#below(2) }),
      );
    }
    return { do: 'settle', settlements };
  }

  #settleOne(
    { runId, attempt, crashes }: Pick<LeasedRun, 'runId' | 'attempt' | 'crashes'>,
    { isPlain, ago = 0 }: { isPlain: boolean; ago?: number },
  ): SettleCall {
    const base = { runId, ago, hasStart: this.#chance(0.8), hasSize: isPlain || this.#chance(0.5) };
    const success = { status: 'SUCCESS', next: { kind: 'finish' }, error: undefined } as const;
    if (isPlain) return { ...base, ...success, result: undefined };
    const result = this.#chance(0.2) ? '{"a": [2], "b": 1}' : undefined;
    const kind = this.#below(6);
    if (kind < 2) return { ...base, ...success, result };
    const status = this.#pick(['FAILED', 'TIMED_OUT', 'RETURNED', 'LOST'] as const);
    if (kind < 4) {
      const isCrash = this.#chance(0.3);
      const atMs = this.#nowMs + (this.#chance(0.4) ? 0 : this.#below(10_000));
      const next = {
        kind: 'again',
        atMs,
        attempt: isCrash ? attempt : attempt + 1,
        crashes: crashes + Number(isCrash),
      } as const;
      return { ...base, status, next, error: 'no luck', result };
    }
    if (kind === 4)
      return {
        ...base,
        status,
        next: { kind: 'dead', reason: this.#pick(DEAD_REASONS) },
        error: 'no luck',
        result,
      };
    const ended = this.#pick(['CANCELLED', 'FAILED'] as const);
    return { ...base, status: ended, next: { kind: 'finish' }, error: 'stopped', result };
  }

  async #recordLate(): Promise<Action> {
    const report = this.#pick(['SUCCESS', 'FAILED', 'TIMED_OUT']);
    return { do: 'recordLate', runId: await this.#knownRun(), ago: this.#below(2), report };
  }

  async #someLeased(): Promise<RunId[]> {
    const held = await this.#storage.leases.leasedBy(this.#workers);
    return held.filter(() => this.#chance(0.4)).map(({ runId }) => runId);
  }

  async #deadRun(): Promise<RunId> {
    const { letters } = await this.#storage.runs.deadLetters({ limit: 20 });
    return letters.length > 0 ? this.#pick(letters).runId : this.#knownRun();
  }

  /** Mostly one that waits; sometimes any that ever was. */
  async #knownRun(): Promise<RunId> {
    const waiting = this.#chance(0.6) ? await this.#pendingOf(this.#jobId()) : [];
    return waiting.length > 0 ? this.#pick(waiting) : (this.#pick(this.#runIds) ?? this.#newRun());
  }

  async #pendingOf(jobId: JobId): Promise<RunId[]> {
    return (await this.#storage.runs.pending(jobId, 100)).map(({ runId }) => runId);
  }

  #newRun(): RunId {
    const runId = this.#random.id() as RunId;
    this.#runIds.push(runId);
    return runId;
  }

  #guard(): GuardChoice {
    return this.#chance(0.85) ? 'owner' : this.#pick(['partial', 'former']);
  }

  #jobId(): JobId {
    return this.#pick(this.jobIds);
  }

  #someJobs(): JobId[] {
    return this.#chance(0.5) ? [...this.jobIds] : this.jobIds.filter(() => this.#chance(0.4));
  }

  #chance(share: number): boolean {
    return this.#random.next() < share;
  }

  #below(bound: number): number {
    return this.#random.below(bound);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!;
  }
}
