/**
 * Simulated users: they create jobs through whichever node answers, change their minds, repeat requests that broke off, and
 * remember what they were promised. A request without an answer may or may not have happened.
 */
import { type Job, type JobId, type JobInput, Refusal } from '@carillon/domain';
import type { OperationsOfOne as Operations } from '../../packages/server/src/operations/operations.ts';
import type { Cluster } from './cluster.ts';
import { someBehaviour, someJob, someLimits, someSchedule } from './workload.ts';
import { WORLD_START_MS, type World } from './world.ts';

export interface UserJob {
  readonly name: string;
  readonly input: JobInput;
  /** accepted: promised. refused: certainly not there. unknown: nobody can tell. */
  fate: 'unknown' | 'accepted' | 'refused';
  jobId: JobId | undefined;
  /** What was acknowledged. */
  cancelled: boolean;
  /** asked: it may be gone. */
  deleted: 'no' | 'asked' | 'yes';
}

const PATIENCE_MS = 12_000;
const REPEAT_MS = 1_000;
const BACKLOG_MIN = 3;
/** How long the backlog lasts when faults are over, and how long schedules are watched beside it. */
const FILLED_MS = 80_000;
const PROMPT_MS = 15_000;
const FAST: JobInput = { payload: { act: 'ok', ms: 0, failures: 0 } };

export class Users {
  readonly jobs: UserJob[] = [];
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #safetyMs: number;
  readonly #poison: number;
  readonly #longRuns: number;
  readonly #fickle: boolean;
  #windingUp = false;
  #open = 0;

  /** fickle: they change their minds. */
  constructor(
    world: World,
    cluster: Cluster,
    options: { safetyMs: number; poison: number; longRuns: number; backlog: number; fickle: boolean },
  ) {
    this.#world = world;
    this.#cluster = cluster;
    this.#safetyMs = options.safetyMs;
    this.#poison = options.poison;
    this.#longRuns = options.longRuns;
    this.#fickle = options.fickle;
    const { chance } = world;
    const count = chance.integer(2, 10);
    for (let i = 0; i < count; i += 1) {
      const atMs = chance.between(0, chance.happens(0.5) ? 5_000 : this.#safetyMs * 0.8);
      this.#world.at(atMs, () => this.create(`job-${i}`));
    }
    const { backlog } = options;
    if (backlog > 0)
      this.#world.at(chance.between(2_000, this.#safetyMs * 0.8), () => {
        const ms = chance.pick([0, 5, 300]);
        this.createMany('burst', backlog, { payload: { act: 'ok', ms, failures: 0 } });
      });
  }

  /** Requests that still wait for an answer or a repetition. */
  get open(): number {
    return this.#open;
  }

  create(name: string, input?: JobInput): UserJob {
    const { chance } = this.#world;
    const { nowMs, endMs } = this.#span();
    const wanted =
      input ?? someJob(chance, { name, nowMs, endMs, poison: this.#poison, longRuns: this.#longRuns });
    const job = unanswered(name, wanted);
    this.jobs.push(job);
    // Without a key a request that broke off must not be repeated.
    const idempotencyKey = chance.happens(0.7) ? `key-${name}` : undefined;
    this.#ask(`create ${name}`, (operations) => operations.createJob(wanted, { idempotencyKey }), {
      repeat: idempotencyKey !== undefined,
      done: ({ jobId }) => {
        job.fate = 'accepted';
        job.jobId = jobId;
        if (this.#fickle && !input) this.#planChanges(job, jobId);
      },
      refused: (isFirst) => {
        // A repetition may be refused for being late, although the request before it was accepted.
        if (isFirst) job.fate = 'refused';
      },
    });
    return job;
  }

  /** One-off jobs that are alike, in one request. */
  createMany(name: string, count: number, input: JobInput): void {
    const jobs = Array.from({ length: count }, (_, i) => {
      const own = `${name}-${i}`;
      return unanswered(own, { ...input, name: own, handler: 'simulated' });
    });
    this.jobs.push(...jobs);
    const inputs = jobs.map((job) => job.input);
    const idempotencyKey = `key-${name}`;
    this.#ask(
      `create ${count} of ${name}`,
      (operations) => operations.createJobs(inputs, { idempotencyKey }),
      {
        repeat: true,
        done: (answers) =>
          answers.forEach((answer, i) => {
            if (answer instanceof Refusal) return;
            jobs[i]!.fate = 'accepted';
            jobs[i]!.jobId = answer.jobId;
          }),
      },
    );
  }

  /**
   * Work for a while for all slots there are, of tenants of whom one wants more than the others, and schedules beside it that
   * go on until calls of before have come back and for a while after. Answers how many jobs the tenants have.
   */
  fill(backlog: number, { calmMs, slots }: { calmMs: number; slots: number }): number {
    const ms = Math.max(20, Math.round((FILLED_MS * slots) / (2 * backlog)));
    const input: JobInput = { priority: 'low', payload: { act: 'ok', ms, failures: 0 } };
    const half = Math.ceil(backlog / 2);
    for (const [userId, count] of [
      ['ann', backlog],
      ['bob', half],
      ['eve', half],
    ] as const)
      this.createMany(`backlog-${userId}`, count, { ...input, userId });
    const endAt = new Date(this.#world.wallMs + calmMs + PROMPT_MS).toISOString();
    for (const priority of ['low', 'high'] as const)
      this.create(`steady-${priority}`, {
        ...{ name: `steady-${priority}`, handler: 'simulated', priority, endAt },
        ...{ ...FAST, cronExpression: '*/2 * * * * *' },
      });
    return backlog + 2 * half;
  }

  /** Wakes what was put to sleep and makes slow jobs with a backlog fast, so that everything can come to an end soon. */
  windUp(jobs: readonly Job[], backlog: ReadonlyMap<JobId, number>): void {
    this.#windingUp = true;
    for (const { jobId, status, payload } of jobs) {
      if (status === 'PAUSED')
        this.#ask('resume', (operations) => operations.resumeJob(jobId), { repeat: false });
      if ((backlog.get(jobId) ?? 0) < BACKLOG_MIN || payload === JSON.stringify(FAST.payload)) continue;
      this.#ask('wind up', (operations) => operations.updateJob(jobId, FAST), { repeat: false });
    }
  }

  /** From now to when no schedule shall fire any more, by the storage's clock. */
  #span(): { nowMs: number; endMs: number } {
    const { chance, wallMs } = this.#world;
    const nowMs = wallMs - WORLD_START_MS;
    const leftMs = Math.max(0, this.#safetyMs - this.#world.nowMs);
    return { nowMs, endMs: nowMs + leftMs + chance.between(0, 8_000) };
  }

  #planChanges(job: UserJob, jobId: JobId): void {
    const { chance } = this.#world;
    const count = chance.happens(0.5) ? 0 : chance.integer(1, 4);
    for (let i = 0; i < count; i += 1) {
      const atMs = this.#world.nowMs + chance.between(0, Math.max(0, this.#safetyMs - this.#world.nowMs));
      this.#world.at(atMs, () => this.#change(job, jobId));
    }
  }

  #change(job: UserJob, jobId: JobId): void {
    const { chance } = this.#world;
    const changes: readonly (() => void)[] = [
      () => this.#cancel(job, jobId),
      () => this.#pause(jobId),
      () => this.#ask('run now', (operations) => operations.runJobNow(jobId), { repeat: false }),
      () => this.cancelLatestRun(jobId),
      () => this.#redrive(jobId),
      () => this.#skip(jobId),
      () => this.#edit(jobId),
      () => this.#edit(jobId),
      () => this.#edit(jobId),
    ];
    if (chance.happens(0.06)) this.#delete(job, jobId);
    else chance.pick(changes)();
  }

  #pause(jobId: JobId): void {
    const { chance, nowMs } = this.#world;
    this.#ask('pause', (operations) => operations.pauseJob(jobId), { repeat: true });
    if (chance.happens(0.8)) this.#world.at(nowMs + chance.between(100, 90_000), () => this.#resume(jobId));
  }

  #edit(jobId: JobId): void {
    const { chance } = this.#world;
    const { nowMs, endMs } = this.#span();
    const reschedule = chance.happens(0.4);
    const patch: JobInput = reschedule
      ? someSchedule(chance, { nowMs, endMs })
      : chance.happens(0.3)
        ? { payload: someBehaviour(chance) }
        : someLimits(chance);
    this.#ask('edit', (operations) => operations.updateJob(jobId, patch), { repeat: true });
  }

  #resume(jobId: JobId): void {
    if (!this.#windingUp) this.#ask('resume', (operations) => operations.resumeJob(jobId), { repeat: true });
  }

  #cancel(job: UserJob, jobId: JobId): void {
    this.#ask('cancel', (operations) => operations.cancelJob(jobId), {
      repeat: true,
      done: () => {
        job.cancelled = true;
      },
    });
  }

  #delete(job: UserJob, jobId: JobId): void {
    job.deleted = 'asked';
    this.#ask('delete', (operations) => operations.deleteJob(jobId), {
      repeat: true,
      done: () => {
        job.deleted = 'yes';
      },
    });
  }

  /** Pressed twice, as impatient people do. */
  #redrive(jobId: JobId): void {
    const redriveOne = async (operations: Operations) => {
      const { letters } = await operations.listDeadLetters({ jobId, limit: 1 });
      const [letter] = letters;
      if (letter) await operations.redriveDeadLetter(letter.runId);
    };
    this.#ask('redrive', redriveOne, { repeat: false });
    this.#ask('redrive', redriveOne, { repeat: false });
  }

  /** One of the next fires; some change their minds and take it back. */
  #skip(jobId: JobId): void {
    const { chance, nowMs } = this.#world;
    const ahead = chance.integer(1, 3);
    let skippedMs: number | undefined;
    const skipOne = async (operations: Operations) => {
      const { fires } = await operations.previewSchedule({ schedule: {}, jobId, count: ahead });
      skippedMs = fires.at(-1)?.atMs;
      if (skippedMs !== undefined) await operations.skipFire(jobId, { atMs: skippedMs });
    };
    this.#ask('skip', skipOne, { repeat: false });
    if (chance.happens(0.3))
      this.#world.at(nowMs + chance.between(0, 3_000), () => {
        const atMs = skippedMs;
        if (atMs !== undefined)
          this.#ask('unskip', (operations) => operations.unskipFire(jobId, { atMs }), { repeat: true });
      });
  }

  cancelLatestRun(jobId: JobId): void {
    const stopLatest = async (operations: Operations) => {
      const { latestRun } = await operations.getJobStatus(jobId);
      if (latestRun) await operations.cancelRun(latestRun.runId);
    };
    this.#ask('cancel run', stopLatest, { repeat: false });
  }

  #ask<T>(
    what: string,
    request: (operations: Operations) => Promise<T>,
    options: { repeat: boolean; done?: (answer: T) => void; refused?: (isFirst: boolean) => void },
    isFirst = true,
  ): void {
    this.#open += 1;
    const server = this.#cluster.serving();
    if (server.length === 0) {
      this.#again(() => this.#ask(what, request, options, isFirst));
      return;
    }
    const process = this.#world.chance.pick(server);
    let answered = false;
    const answer = (then: () => void) => {
      if (answered) return;
      answered = true;
      cancel();
      then();
    };
    const close = (then?: () => void) => {
      this.#open -= 1;
      then?.();
    };
    const unknown = () => {
      this.#world.trace.add('user', `${what}: no answer from ${process.name}`);
      if (options.repeat) this.#again(() => this.#ask(what, request, options, false));
      else close();
    };
    const cancel = this.#world.clock.timer(PATIENCE_MS, () => answer(unknown));
    request(process.operations).then(
      (value) => answer(() => close(() => options.done?.(value))),
      (error: unknown) =>
        answer(error instanceof Refusal ? () => close(() => options.refused?.(isFirst)) : unknown),
    );
  }

  #again(ask: () => void): void {
    this.#world.at(this.#world.nowMs + REPEAT_MS, () => {
      this.#open -= 1;
      ask();
    });
  }
}

function unanswered(name: string, input: JobInput): UserJob {
  return { name, input, fate: 'unknown', jobId: undefined, cancelled: false, deleted: 'no' };
}
