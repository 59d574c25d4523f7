/**
 * What must be true when faults are over and everything has had its time: nothing is left behind anywhere, every promise was
 * kept, and every occurrence of every schedule has exactly one verdict in the history.
 */
import { isRecurring, type Job, type JobId, nextFire, SHARD_COUNT } from '@carillon/domain';
import type { Cursor } from '../../packages/server/src/storage/due.ts';
import type { RunView } from '../../packages/server/src/storage/run-store.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { checkEndEvents, eventsOfRuns } from './check-events.ts';
import type { Cluster } from './cluster.ts';
import { skippedInstants } from './fire-ledger.ts';
import type { Observer } from './observer.ts';
import type { SimWorker } from './sim-worker.ts';
import type { UserJob, Users } from './users.ts';
import type { World } from './world.ts';

const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
const EVERYTHING = { limit: 100_000 };

export interface Parts {
  readonly world: World;
  readonly storage: Storage;
  readonly cluster: Cluster;
  readonly users: Users;
  readonly observer: Observer;
}

/** What keeps the system from being at rest; undefined when nothing does. */
export async function unrest({ storage, cluster, users }: Parts): Promise<string | undefined> {
  const due = await pending(storage);
  const backlog = new Map(
    [...Map.groupBy(due, ({ jobId }) => jobId)].map(([jobId, rows]) => [jobId, rows.length]),
  );
  users.windUp((await storage.jobs.list(EVERYTHING)).jobs, backlog);
  if (users.open > 0) return `${users.open} requests of users are open`;
  if (due.length > 0) return `${due.length} rows are pending, the first is ${JSON.stringify(due[0])}`;
  const workers = (await storage.members.workers()).map(({ workerId }) => workerId);
  const [leased] = await storage.leases.leasedBy(workers);
  if (leased) return `run ${leased.runId} of job ${leased.jobId} is leased by ${leased.workerId}`;
  const worker = (await storage.members.workers()).find(({ alive }) => !alive);
  if (worker) return `the dead worker ${worker.workerId} is not forgotten`;
  for (const process of cluster.processes()) {
    const { running, slotsTaken } = process.atHand();
    if (running !== 0) return `${process.name} still executes ${running} runs`;
    if (slotsTaken !== 0) return `${process.name} counts ${slotsTaken} slots as taken`;
  }
  const connected = cluster.processes().flatMap((process) => process.remoteWorkers());
  for (const { name, workerId, ...worker } of cluster.workers().map(asSeen)) {
    const { running, unrecorded } = worker;
    if (running !== 0) return `${name} still executes ${running} runs`;
    if (unrecorded !== 0) return `${name} has ${unrecorded} outcomes that are not recorded`;
    const homes = connected.filter((id) => id.startsWith(workerId)).length;
    if (homes !== 1) return `${name} is given runs by ${homes} servers`;
  }
  return undefined;
}

function asSeen(worker: SimWorker) {
  return { name: worker.name, workerId: worker.workerId, ...worker.atHand() };
}

/** No cursor is due for long, whatever waits to be executed (SIM-11). */
export async function checkCursors({ storage, observer }: Parts): Promise<void> {
  for (const cursor of await cursors(storage)) observer.fires.checkPrompt(cursor);
}

export async function checkPromises(parts: Parts): Promise<void> {
  const { world, users, storage, observer } = parts;
  observer.shares.check();
  const { jobs: all } = await storage.jobs.list(EVERYTHING);
  for (const job of users.jobs) {
    const found = all.filter(({ name }) => name === job.name);
    if (found.length > 1)
      world.violate(`${job.name} was created ${found.length} times: ${found.map((one) => one.jobId)}`);
    if (job.fate === 'refused' && found.length > 0) world.violate(`${job.name} was refused and is there`);
    if (job.fate === 'accepted') checkFate(parts, job, found[0]);
  }
  const events = await eventsOfRuns(storage);
  for (const job of all) await checkHistory(parts, job, events);
  for (const { runId, jobId, end, claim } of observer.runs.all()) {
    if (claim) world.violate(`run ${runId} of job ${jobId} was never settled`);
    if (
      end === undefined &&
      observer.isCancelled(jobId) === false &&
      (await storage.runs.attempts(runId, world.wallMs)).length === 0
    ) {
      world.violate(`run ${runId} of job ${jobId} is lost: neither pending nor ended`);
    }
  }
}

async function pending(storage: Storage): Promise<{ readonly jobId: JobId }[]> {
  const { jobs } = await storage.jobs.list(EVERYTHING);
  const runs = await Promise.all(jobs.map(({ jobId }) => storage.runs.pending(jobId, 10_000)));
  // What a pause holds back comes to its end after it.
  const waiting = runs.flat().filter(({ held }) => !held);
  return [...(await cursors(storage)), ...waiting];
}

function cursors(storage: Storage): Promise<Cursor[]> {
  const positions = ALL_SHARDS.map((shard) => ({ shard, afterMs: 0, afterId: '' }));
  const window = { untilMs: Number.MAX_SAFE_INTEGER, limitPerShard: 10_000 };
  return storage.schedule.readCursors(positions, window);
}

function checkFate({ world }: Parts, promised: UserJob, found: Job | undefined): void {
  // Its key went with it: a first request that was under way all the time may make it anew, under another id.
  if (promised.deleted !== 'no' && found?.jobId !== promised.jobId) return;
  if (promised.deleted === 'yes' && found) world.violate(`job ${found.jobId} was deleted and is there`);
  if (!found) {
    world.violate(`${promised.name} was accepted as job ${promised.jobId} and is lost`);
    return;
  }
  if (found.jobId !== promised.jobId) world.violate(`${promised.name} was accepted under another id`);
  if (promised.cancelled && found.status !== 'CANCELLED') {
    world.violate(`job ${found.jobId} is ${found.status} though its cancel was acknowledged`);
  }
  if (found.status === 'SCHEDULED')
    world.violate(`job ${found.jobId} is still SCHEDULED though nothing of it is pending`);
}

async function checkHistory(
  parts: Parts,
  job: Job,
  events: Awaited<ReturnType<typeof eventsOfRuns>>,
): Promise<void> {
  const { world, storage } = parts;
  const { jobId } = job;
  const views = await storage.runs.ofJob(jobId, EVERYTHING, world.wallMs);
  const byRun = Map.groupBy(views, ({ runId }) => runId);
  for (const [runId, attempts] of byRun) {
    checkAttempts(world, { runId, jobId }, attempts);
    checkEndEvents(world, attempts, events);
  }
  if (isRecurring(job.schedule))
    checkOccurrences(
      parts,
      job,
      [...byRun.values()].map((attempts) => attempts[0]!),
    );
  else if (job.status !== 'PAUSED' && views.length === 0)
    world.violate(`job ${jobId} is ${job.status} and never had a run`);
}

function checkAttempts(
  world: World,
  ids: { runId: string; jobId: JobId },
  attempts: readonly RunView[],
): void {
  const finished = attempts.filter(
    ({ status }) => status === 'SUCCESS' || status === 'CANCELLED' || status === 'SKIPPED',
  );
  const latest = attempts.reduce((a, b) => (a.epoch > b.epoch ? a : b));
  if (finished.length > 1)
    world.violate(`run ${ids.runId} of job ${ids.jobId} finished ${finished.length} times`);
  if (finished.length === 1 && finished[0] !== latest)
    world.violate(`run ${ids.runId} of job ${ids.jobId} went on after its end`);
}

/** Each nominal instant from the first to the last once; for a schedule that was edited, none twice. */
function checkOccurrences({ world, observer }: Parts, job: Job, runs: readonly RunView[]): void {
  const { schedule, jobId } = job;
  const plan = observer.fires.get(jobId);
  if (!isRecurring(schedule) || !plan) return;
  const nominal = runs
    .filter(({ trigger }) => trigger === 'schedule')
    .flatMap(({ scheduledAtMs, occurrences, epoch }) =>
      epoch === 0 ? skippedInstants(schedule, scheduledAtMs, occurrences) : [scheduledAtMs],
    )
    .sort((a, b) => a - b);
  const double = nominal.find((at, i) => at === nominal[i - 1]);
  if (double !== undefined && !plan.edited) world.violate(`job ${jobId} has two verdicts for ${iso(double)}`);
  if (plan.edited) return;
  const missing = [...plan.judged].find((at) => !nominal.includes(at));
  if (missing !== undefined) world.violate(`job ${jobId} has no verdict in the history for ${iso(missing)}`);
  let expected = nextFire(schedule, job.createdAtMs);
  for (const at of nominal) {
    if (at !== expected)
      world.violate(`job ${jobId}: expected a verdict for ${iso(expected)}, found ${iso(at)}`);
    expected = nextFire(schedule, at);
  }
  if (expected !== undefined && job.status === 'COMPLETED')
    world.violate(`job ${jobId} ended before ${iso(expected)}`);
}

function iso(atMs: number | undefined): string {
  return atMs === undefined ? 'nothing' : new Date(atMs).toISOString();
}
