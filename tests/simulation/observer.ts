/**
 * Watches every storage call at the instant it is applied, whichever process sent it, and holds it against what must always
 * be true: nothing fires twice or early, nothing cancelled starts, no limit is passed, no living worker is marked dead.
 */
import { type JobId, nextFire, type RunId, type Schedule, type WorkerId } from '@carillon/domain';
import type { RunContext } from '@carillon/worker';
import type {
  CancelVerdict,
  InsertedJob,
  JobChange,
  NewJob,
} from '../../packages/server/src/storage/job-store.ts';
import type { ClaimRequest, Settled, Settlement } from '../../packages/server/src/storage/lease-store.ts';
import type { Fire, Fired } from '../../packages/server/src/storage/schedule-store.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { type Args, aboutCall, NOBODY, outcomeOfCall, type Result } from './call-facts.ts';
import { CheckpointLedger } from './checkpoint-ledger.ts';
import { FireLedger } from './fire-ledger.ts';
import { RunLedger } from './run-ledger.ts';
import { ShareLedger } from './share-ledger.ts';
import { type BoundedProcess, UnrecordedLedger } from './unrecorded-ledger.ts';
import { WorkerLedger } from './worker-ledger.ts';
import type { World } from './world.ts';

export interface AppliedCall {
  readonly name: string;
  readonly call: string;
  readonly args: readonly unknown[];
  readonly result: unknown;
  readonly sentMs: number;
}

interface JobAccount {
  limit: number;
  /** What it was before it was lowered, and when. */
  formerLimit: { readonly limit: number; readonly untilMs: number };
  /** The most retries any version of it allowed. */
  retriesMax: number;
  cancelled: boolean;
  paused: boolean;
  schedule: Schedule;
}

type Watch = (applied: AppliedCall) => void;

export class Observer {
  readonly runs: RunLedger;
  readonly fires: FireLedger;
  readonly workers: WorkerLedger;
  readonly unrecorded: UnrecordedLedger;
  readonly shares: ShareLedger;
  readonly #checkpoints: CheckpointLedger;
  readonly #world: World;
  /** As it is: for looks at what a call has left behind. */
  readonly #storage: Storage;
  readonly #jobs = new Map<JobId, JobAccount>();
  readonly #redrivenRuns = new Set<RunId>();

  /** What is checked when a call was applied; the others change nothing that is watched. */
  readonly #watches: Readonly<Record<string, Watch>> = {
    'jobs.insert': ({ args, result }) =>
      this.#inserted(args[0] as readonly NewJob[], result as InsertedJob[]),
    'jobs.apply': ({ args, result }) => result && this.#changed(args[0] as JobChange),
    'jobs.enqueue': ({ args, result }) => {
      const [jobId, run] = args as Args<'jobs', 'enqueue'>;
      if (result) this.#enqueued(jobId, run);
    },
    'jobs.remove': ({ args, result }) => result && this.#removed(args[0] as JobId),
    'jobs.cancelRun': ({ args, result }) =>
      this.#runCancelled(args[0] as RunId, result as Result<'jobs', 'cancelRun'>),
    'runs.redrive': ({ args, result }) => result && this.#redriven(...(args as Args<'runs', 'redrive'>)),
    'schedule.fire': ({ args, result }) => this.#fired(args[0] as readonly Fire[], result as Fired),
    'leases.claim': ({ args, result }) =>
      this.#claimed(args[0] as ClaimRequest, result as Result<'leases', 'claim'>),
    'leases.settle': ({ args, result }) => this.#settled(args[0] as readonly Settlement[], result as Settled),
    'runState.saveCheckpoints': ({ args, result }) =>
      this.#checkpoints.saved(
        args[0] as Args<'runState', 'saveCheckpoints'>[0],
        result as Result<'runState', 'saveCheckpoints'>,
      ),
    'schedule.expire': ({ result }) => this.#givenUp(result as Result<'schedule', 'expire'>),
    'schedule.replace': ({ result }) => this.#stopRequested(result as readonly RunId[]),
    'leases.requestCancel': ({ args }) => this.#stopRequested(args[0] as readonly RunId[]),
    'members.registerWorker': ({ args, result, sentMs }) =>
      result === 'registered' &&
      this.workers.registered((args as Args<'members', 'registerWorker'>)[0], sentMs),
    'members.beatWorker': ({ args, result, sentMs }) =>
      this.workers.beat(args[0] as WorkerId, (result as Result<'members', 'beatWorker'>).alive, sentMs),
    'members.beatWorkers': ({ result, sentMs }) => {
      for (const workerId of (result as Result<'members', 'beatWorkers'>).keys())
        this.workers.beat(workerId, true, sentMs);
    },
    'members.forgetWorkers': ({ args }) =>
      this.workers.forgotten(args[0] as readonly WorkerId[], (workerId) => this.runs.holdsNothing(workerId)),
    'members.forgetLeft': ({ args }) => {
      const [{ workerId, session }] = args as Args<'members', 'forgetLeft'>;
      this.workers.left(workerId, session);
      this.workers.forgotten([workerId], (left) => this.runs.holdsNothing(left));
    },
    'members.markDead': ({ args, result }) =>
      this.workers.markedDead(args[0] as Args<'members', 'markDead'>[0], result as readonly WorkerId[]),
  };

  constructor(world: World, options: { silentMs: number; storage: Storage }) {
    this.#world = world;
    this.#storage = options.storage;
    this.runs = new RunLedger(world);
    this.#checkpoints = new CheckpointLedger(world, this.runs);
    this.fires = new FireLedger(world);
    this.unrecorded = new UnrecordedLedger(world);
    this.shares = new ShareLedger(world);
    this.workers = new WorkerLedger(world, options.silentMs);
  }

  applied(applied: AppliedCall): void {
    const { name, call, args, result } = applied;
    const about = aboutCall(call, args, { runs: this.runs, result });
    if (about.length > 0 && about[0] !== NOBODY)
      this.#world.trace.add(name, call, about, outcomeOfCall(call, args, result));
    this.#watches[call]?.(applied);
  }

  about(call: string, args: readonly unknown[]): readonly string[] {
    return aboutCall(call, args, { runs: this.runs });
  }

  jobIds(): JobId[] {
    return [...this.#jobs.keys()];
  }

  isCancelled(jobId: JobId): boolean {
    return this.#jobs.get(jobId)?.cancelled ?? false;
  }

  /** A handler began. Its worker must be sure that the run still is its own, unless another runs under its name. */
  started(run: RunContext, process: BoundedProcess & { readonly replaced: boolean }): void {
    const { runId, jobId, epoch } = run;
    const account = this.runs.get(runId);
    if (!account?.last) {
      this.#world.violate(`run ${runId} of job ${jobId} starts without a claim`);
      return;
    }
    this.#checkpoints.started(run);
    if (account.claim?.epoch === epoch) this.unrecorded.began(run, process);
    if (account.claim?.epoch === epoch || process.replaced) return;
    this.#world.violate(`run ${runId} of job ${jobId} starts at epoch ${epoch}, which was taken back before`);
  }

  failed({ runId, epoch }: RunContext): void {
    const claim = this.runs.get(runId)?.last;
    if (claim?.epoch === epoch) claim.failed = true;
  }

  #inserted(jobs: readonly NewJob[], results: readonly InsertedJob[]): void {
    jobs.forEach(({ job, first }, i) => {
      if (results[i]?.kind !== 'inserted') return;
      this.#jobs.set(job.jobId, {
        ...{ limit: job.maxConcurrency, formerLimit: { limit: 0, untilMs: 0 } },
        ...{ retriesMax: job.retry.maxRetries, cancelled: false, paused: false, schedule: job.schedule },
      });
      this.fires.planned(job, first);
      this.shares.wanted(job);
    });
  }

  #changed(change: JobChange): void {
    const { job, pending } = change;
    const account = this.#jobs.get(job.jobId)!;
    if (job.maxConcurrency < account.limit) {
      account.formerLimit = { limit: this.#limitOf(account), untilMs: this.#world.nowMs + LOWERED_LIMIT_MS };
    }
    account.limit = job.maxConcurrency;
    account.retriesMax = Math.max(account.retriesMax, job.retry.maxRetries);
    account.paused = job.status === 'PAUSED';
    account.schedule = job.schedule;
    this.fires.changed(change);
    if (pending.kind !== 'drop') return;
    account.cancelled = true;
    for (const run of this.runs.all()) if (run.jobId === job.jobId && run.claim) run.cancelAsked = true;
  }

  #removed(jobId: JobId): void {
    const account = this.#jobs.get(jobId)!;
    account.cancelled = true;
    const alive = this.runs.leasedOf(jobId);
    if (alive > 0) this.#world.violate(`job ${jobId} was removed while ${alive} of its runs were alive`);
  }

  #redriven(deadRunId: RunId, as: { runId: RunId }): void {
    const dead = this.runs.get(deadRunId);
    if (!dead?.end) {
      this.#world.violate(`run ${deadRunId} was redriven again and had not ended`);
      return;
    }
    if (this.#redrivenRuns.has(deadRunId)) this.#world.violate(`run ${deadRunId} was redriven again twice`);
    this.#redrivenRuns.add(deadRunId);
    this.#checkpoints.redriven(deadRunId, as.runId);
    this.#enqueued(dead.jobId, as);
  }

  #enqueued(jobId: JobId, run: { runId: RunId }): void {
    this.runs.account(run.runId, jobId).manual = true;
    if (this.isCancelled(jobId)) this.#world.violate(`job ${jobId} got a new run after its cancel`);
  }

  #runCancelled(runId: RunId, verdict: CancelVerdict): void {
    if (verdict === 'finished' || verdict === 'unknown') return;
    const account = this.runs.get(runId);
    if (account) account.cancelAsked = true;
    if (account && verdict === 'ended') this.#mayEndPause(account.jobId);
  }

  /** The end of its last run ends a job, also a paused one: what is left of it may start. */
  #mayEndPause(jobId: JobId): void {
    const job = this.#jobs.get(jobId);
    if (job?.paused && nextFire(job.schedule, this.#world.wallMs) === undefined) job.paused = false;
  }

  #stopRequested(runIds: readonly RunId[]): void {
    for (const runId of runIds) {
      const account = this.runs.get(runId);
      if (account?.claim) account.cancelAsked = true;
    }
  }

  #claimed(request: ClaimRequest, batch: Result<'leases', 'claim'>): void {
    for (const run of batch.runs) {
      const { runId, jobId, attempt } = run;
      const say = (what: string) => this.#world.violate(`run ${runId} of job ${jobId} was claimed ${what}`);
      if (!this.runs.get(runId)?.last) this.shares.claimed(jobId);
      this.runs.claim(run, request);
      this.#checkpoints.claimed(run);
      const job = this.#jobs.get(jobId);
      if (!job) {
        say('though nobody made its job');
        return;
      }
      if (job.cancelled) say('after its job was cancelled');
      if (job.paused && !this.runs.get(runId)?.manual) say('though its job is paused');
      if (this.workers.isDead(request.workerId)) say(`for the dead worker ${request.workerId}`);
      if (attempt > job.retriesMax + 1) say(`as attempt ${attempt} with ${job.retriesMax} retries`);
      const alive = this.runs.leasedOf(jobId);
      const limit = this.#limitOf(job);
      if (alive > limit) say(`as number ${alive}, and the limit of its job is ${limit}`);
      this.fires.notEarly(runId, run.nominalAtMs);
    }
  }

  #limitOf({ limit, formerLimit }: JobAccount): number {
    return formerLimit.untilMs > this.#world.nowMs ? Math.max(limit, formerLimit.limit) : limit;
  }

  #fired(fires: readonly Fire[], { jobIds, skipped }: Fired): void {
    this.fires.fired(fires, jobIds, (jobId) => this.isCancelled(jobId));
    if (skipped > 0) for (const fire of fires) if (jobIds.has(fire.cursor.jobId)) void this.#justify(fire);
  }

  /** A skip is justified by as many runs open or alive at that moment as the job may have (or by a full queue). */
  async #justify({ cursor: { jobId }, runs }: Fire): Promise<void> {
    const limit = this.#jobs.get(jobId)?.limit ?? 1;
    const alive = this.runs.leasedOf(jobId);
    // Answered from the state of this very moment, before anything else can happen.
    const pending = await this.#storage.runs.pending(jobId, 10_000);
    const left = new Set(pending.map(({ runId }) => runId));
    const isSkipped = runs.some(({ runId }) => !left.has(runId) && this.runs.get(runId) === undefined);
    const taken = alive + pending.filter(({ state, held }) => state === 'open' && !held).length;
    if (isSkipped && taken < limit)
      this.#world.violate(`job ${jobId} skipped an occurrence with ${taken} of ${limit} runs open or alive`);
  }

  #givenUp(runs: Result<'schedule', 'expire'>): void {
    for (const { jobId, runId } of runs) {
      this.runs.end(this.runs.account(runId, jobId), 'expired');
      this.#mayEndPause(jobId);
    }
  }

  #settled(settlements: readonly Settlement[], { verdicts }: Settled): void {
    settlements.forEach((settlement, i) => {
      const verdict = verdicts[i];
      if (verdict === 'stale') return;
      const claim = this.runs.claimAt(settlement);
      if (claim) this.unrecorded.recorded(claim);
      if (claim && settlement.status === 'LOST') this.workers.lost(claim);
      if (claim && settlement.status === 'TIMED_OUT') claim.failed = true;
      const again = verdict === 'settled' && settlement.next.kind === 'again';
      const status = verdict === 'cancelled' ? 'CANCELLED' : settlement.status;
      this.runs.settle(settlement, { again, status });
      if (claim) this.#checkpoints.ended(claim.runId, status);
      if (!again && claim) this.#mayEndPause(claim.jobId);
      if (again && claim && this.isCancelled(claim.jobId)) {
        this.#world.violate(`run ${claim.runId} is tried again though its job ${claim.jobId} was cancelled`);
      }
    });
  }
}

/** What holds a slot keeps it though the limit is lowered, until it has ended: at most its timeout, twice its grace. */
const LOWERED_LIMIT_MS = 100_000;
