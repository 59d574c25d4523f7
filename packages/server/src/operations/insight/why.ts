/**
 * Why a job or a run does not run yet, or how it ended. What a run waits for is judged by the storage, as everywhere; here it is
 * completed with who holds the slots, how many stand before it and when it may start, and told in sentences.
 */
import {
  type Caller,
  fireTime,
  firstUnskipped,
  isLeased,
  isSkippedBy,
  type Job,
  type JobId,
  may,
  type Reason,
  type RunId,
  runsShownTo,
  type ShownJobStatus,
  shownStatus,
  type WaitsFor,
  type Why,
} from '@carillon/domain';
import type { Standing, StripRun } from '../../storage/insight-store.ts';
import type { RunView } from '../../storage/run-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { entriesAbout } from '../support/entries-about.ts';
import { mapInParallel } from '../support/in-parallel.ts';
import { requireVisible, visibleRun } from '../support/visibility.ts';
import {
  atLimitReason,
  cancelledReason,
  endedReason,
  failedReasons,
  fireSkippedReason,
  interruptedReason,
  noSchedulerReason,
  notDueReason,
  noWorkerReason,
  pausedReason,
  retryWaitReason,
  runningReason,
  scriptsOffReason,
  skippedReason,
  startTimeoutReason,
  succeededReason,
  type WorkersOfHandler,
  workersReason,
} from './reasons.ts';

const HOLDERS_MAX = 10;
/** Runs of the job whose durations an estimate is made from. */
const SAMPLE_RUNS = 20;
/** Entries of the audit log that are looked at: runs that people ask for have some, too. */
const ENTRIES_MAX = 100;
/** Skipped fires before the next one that are told of. */
const SKIPS_NAMED_MAX = 3;
/** A fire is found within a second; later than this, nobody looks for it. */
const OVERDUE_MS = 10_000;

export function whyOperations(ports: OperationPorts) {
  const { storage, clock } = ports;

  return {
    async whyRun(caller: Caller, runId: RunId): Promise<Why> {
      const { attempts, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
      return explainRun(ports, caller, { job, attempts: runsShownTo(caller, job, attempts) });
    },

    async whyJob(caller: Caller, jobId: JobId): Promise<Why> {
      // As getJobStatus: the runs are read first, so that a job that ends in between is told as ended.
      const latest = await storage.runs.latestOfJob(jobId, clock.now());
      const activity = await storage.runs.activityOfJob(jobId, clock.now());
      const read = await storage.jobs.getForChange(jobId);
      const job = requireVisible(read?.job, { caller, jobId, action: 'jobs.read' });
      const [shown] = runsShownTo(caller, job, latest ? [latest] : []);
      const status = shownStatus(job.status, activity);
      const { plannedNominalMs } = read!;
      const facts = { job, status, latest: shown, plannedNominalMs };
      const own = await explainPlan(ports, facts);
      if (activity.isRunning && shown) return { ...own, ...(await runningNow(ports, caller, { job, own })) };
      // What is held back by the pause has no other reason than the pause.
      if (activity.waitingRuns > 0 && status !== 'PAUSED') {
        const [first] = await storage.runs.pending(jobId, 1);
        const attempts = first ? await storage.runs.attempts(first.runId, clock.now()) : [];
        const waits =
          attempts.length === 0
            ? undefined
            : await explainRun(ports, caller, { job, attempts: runsShownTo(caller, job, attempts) });
        if (waits?.state === 'waiting') return waits;
      }
      return own;
    },
  };
}

async function runningNow(
  ports: OperationPorts,
  caller: Caller,
  { job, own }: { job: Job; own: Why },
): Promise<Pick<Why, 'state' | 'reasons'>> {
  const { storage, clock } = ports;
  const runs = await storage.runs.ofJob(job.jobId, { limit: HOLDERS_MAX, resultCharsMax: 0 }, clock.now());
  const alive = runsShownTo(caller, job, runs).filter(({ status }) => isLeased(status));
  const paused = own.reasons.filter(({ code }) => code === 'paused' || code === 'cancelled');
  return { state: 'running', reasons: [...(await runningReasons(ports, alive)), ...paused] };
}

/** With how long their workers are silent. */
async function runningReasons(
  { storage, clock }: OperationPorts,
  runs: readonly RunView[],
): Promise<Reason[]> {
  const nowMs = clock.now();
  const ids = [...new Set(runs.flatMap(({ executorId }) => executorId ?? []))];
  const workers = await mapInParallel(ids, (id) => storage.members.findWorker(id, nowMs));
  const silent = new Map(workers.map((worker, i) => [ids[i], worker && nowMs - worker.lastSeenMs]));
  return runs.map((run) => runningReason(run, silent.get(run.executorId)));
}

const NO_START = { position: undefined, estimatedStartMs: undefined };

/** The job, whatever its runs do. */
async function explainPlan(
  ports: OperationPorts,
  {
    job,
    status,
    latest,
    plannedNominalMs,
  }: { job: Job; status: ShownJobStatus; latest: RunView | undefined; plannedNominalMs: number | undefined },
): Promise<Why> {
  const { jobId, schedule, skips = [] } = job;
  const fireOf = (nominalMs: number | undefined) =>
    nominalMs === undefined ? undefined : fireTime({ schedule, jobId, nominalMs });
  switch (status) {
    case 'CANCELLED':
      return {
        ...{ state: 'cancelled', ...NO_START },
        reasons: [cancelledReason('job', { id: jobId, sinceMs: job.updatedAtMs })],
      };
    case 'PAUSED':
      return { state: 'paused', reasons: [pausedReason(job, await pausedSince(ports, job))], ...NO_START };
    case 'FAILED': {
      const letter = latest && (await ports.storage.runs.deadLetter(latest.runId));
      const reasons = latest ? failedReasons(latest, letter) : [endedReason(job, latest)];
      return { state: 'failed', reasons, ...NO_START };
    }
    default: {
      const plannedMs = fireOf(plannedNominalMs);
      if (plannedNominalMs === undefined || plannedMs === undefined) {
        const reason = endedReason(job, latest);
        return { state: reason.code === 'succeeded' ? 'succeeded' : 'ended', reasons: [reason], ...NO_START };
      }
      const isOverdue = plannedMs < ports.clock.now() - OVERDUE_MS;
      if (isOverdue && (await isUnscheduled(ports, job)))
        return { state: 'waiting', reasons: [noSchedulerReason(plannedMs)], ...NO_START };
      const nextNominalMs = firstUnskipped(schedule, plannedNominalMs, skips);
      const nextMs = fireOf(nextNominalMs);
      const before = skips.filter(
        ({ atMs }) => atMs >= plannedNominalMs && (nextNominalMs === undefined || atMs < nextNominalMs),
      );
      const reasons = [
        ...(nextMs === undefined ? [] : [notDueReason(nextMs)]),
        ...before.slice(0, SKIPS_NAMED_MAX).map((skip) => fireSkippedReason(job, skip)),
      ];
      return { state: 'scheduled', reasons, position: undefined, estimatedStartMs: nextMs };
    }
  }
}

/** When somebody last paused it, as the audit log knows. */
async function pausedSince({ audit }: OperationPorts, { jobId }: Job): Promise<number | undefined> {
  const { rows: entries } = await entriesAbout({ audit }, { subjectId: jobId, limit: ENTRIES_MAX });
  return entries.find(({ action }) => action === 'jobs.pause')?.atMs;
}

/** When the person who skipped this occurrence did so, as the audit log knows. */
async function skippedSince(
  { audit }: OperationPorts,
  { jobId, scheduledAtMs }: RunView,
): Promise<number | undefined> {
  const { rows: entries } = await entriesAbout({ audit }, { subjectId: jobId, limit: ENTRIES_MAX });
  const at = new Date(scheduledAtMs).toISOString();
  return entries.find(({ action, after }) => action === 'jobs.skip' && after?.includes(`"${at}"`) === true)
    ?.atMs;
}

/** No living server owns the shard of the job. */
async function isUnscheduled({ storage, clock }: OperationPorts, { shard }: Job): Promise<boolean> {
  const owner = (await storage.members.shards()).find((one) => one.shard === shard);
  return owner?.nodeId === undefined || owner.expiresAtMs <= clock.now();
}

interface Told {
  /** Undefined when it was deleted. */
  readonly job: Job | undefined;
  /** As the caller may see them, the latest first. */
  readonly attempts: readonly RunView[];
}

async function explainRun(ports: OperationPorts, caller: Caller, { job, attempts }: Told): Promise<Why> {
  const [latest, before] = attempts as readonly [RunView, RunView?];
  switch (latest.status) {
    case 'QUEUED':
      if (job) return explainWaiting(ports, caller, { job, latest, before });
      return { state: 'waiting', reasons: [noWorkerReason('', latest.createdAtMs)], ...NO_START };
    case 'CLAIMED':
    case 'RUNNING':
    case 'CANCELLING':
      return { state: 'running', reasons: await runningReasons(ports, [latest]), ...NO_START };
    case 'SUCCESS':
      return { state: 'succeeded', reasons: [succeededReason(latest)], ...NO_START };
    case 'CANCELLED': {
      const { runId: id, endedAtMs, modifiedAtMs } = latest;
      const reasons = [cancelledReason('run', { id, sinceMs: endedAtMs ?? modifiedAtMs })];
      return { state: 'cancelled', reasons, ...NO_START };
    }
    case 'SKIPPED': {
      const sinceMs = isSkippedBy(latest.reason) ? await skippedSince(ports, latest) : undefined;
      return { state: 'skipped', reasons: [skippedReason(latest, sinceMs)], ...NO_START };
    }
    case 'RETURNED':
    case 'LOST': {
      const letter = await ports.storage.runs.deadLetter(latest.runId);
      if (letter) return { state: 'failed', reasons: failedReasons(latest, letter), ...NO_START };
      return { state: 'waiting', reasons: [interruptedReason(latest)], ...NO_START };
    }
    default: {
      const letter = await ports.storage.runs.deadLetter(latest.runId);
      return { state: 'failed', reasons: failedReasons(latest, letter), ...NO_START };
    }
  }
}

const CLAIMABLE: WaitsFor = { code: 'claimable' };

interface WaitingRun {
  readonly job: Job;
  readonly latest: RunView;
  readonly before: RunView | undefined;
}

async function explainWaiting(
  ports: OperationPorts,
  caller: Caller,
  { job, latest, before }: WaitingRun,
): Promise<Why> {
  const { storage, clock } = ports;
  const { jobId, maxConcurrency } = job;
  const sinceMs = latest.createdAtMs;
  const standing = await storage.insight.standing(latest.runId);
  const ahead = standing?.ahead;
  const position = ahead === undefined ? undefined : ahead + 1;
  const { code, untilMs = clock.now() } = latest.waitsFor ?? CLAIMABLE;
  switch (code) {
    case 'paused':
      return { state: 'paused', reasons: [pausedReason(job, await pausedSince(ports, job))], ...NO_START };
    case 'not_due': {
      const reason = before
        ? retryWaitReason(before, { untilMs, attemptsMax: job.retry.maxRetries + 1 })
        : notDueReason(untilMs);
      return { state: 'waiting', reasons: [reason], position: undefined, estimatedStartMs: untilMs };
    }
    case 'at_limit': {
      const holders = await storage.insight.slotHolders(jobId, HOLDERS_MAX);
      const reasons = [atLimitReason(job, { holders, ahead, sinceMs })];
      const estimatedStartMs = await estimate(ports, { job, position, atOnce: maxConcurrency });
      return { state: 'waiting', reasons: [...reasons, ...expiry(standing)], position, estimatedStartMs };
    }
    case 'no_worker':
      return {
        ...{
          state: 'waiting',
          reasons: [await nobodyReason(ports, job, sinceMs), ...expiry(standing)],
          position,
        },
        estimatedStartMs: undefined,
      };
    case 'claimable': {
      if (ahead === undefined && sinceMs < clock.now() - OVERDUE_MS && (await isUnscheduled(ports, job)))
        return { state: 'waiting', reasons: [noSchedulerReason(sinceMs)], ...NO_START };
      const workers = await workersOf(ports, job);
      const isTold = may(caller, 'workers.read');
      const reason = workersReason(workers, { sinceMs, isTold, ahead, namespace: job.namespace });
      const isQueued = reason.code === 'slots_busy' || reason.code === 'behind_others';
      const estimatedStartMs = isQueued
        ? await estimate(ports, { job, position, atOnce: workers.slots })
        : undefined;
      return { state: 'waiting', reasons: [reason, ...expiry(standing)], position, estimatedStartMs };
    }
  }
}

/** A server that runs jobs of its own is a worker without a stream: it would offer scripts if it were told to run them. */
async function nobodyReason(
  { storage }: OperationPorts,
  { handler }: Job,
  sinceMs: number | undefined,
): Promise<Reason> {
  if (handler === 'script') {
    const workers = await storage.members.workers();
    if (workers.some(({ alive, session }) => alive && session === 0)) return scriptsOffReason(sinceMs);
  }
  return noWorkerReason(handler, sinceMs);
}

/** That it will be given up, where its job says so. */
function expiry(standing: Standing | undefined): Reason[] {
  return standing?.expiresAtMs === undefined ? [] : [startTimeoutReason(standing.expiresAtMs)];
}

/** Those that may be given the job. */
async function workersOf(
  { storage }: OperationPorts,
  { handler, namespace }: Job,
): Promise<WorkersOfHandler> {
  const { members } = storage;
  const [offering, held] = await Promise.all([
    members.workersOffering(handler, [namespace]),
    members.leasedRuns(),
  ]);
  const taking = offering.filter(({ draining }) => !draining);
  const drained = offering.filter(({ draining }) => draining);
  const sum = (count: (worker: (typeof offering)[number]) => number) =>
    taking.reduce((total, worker) => total + count(worker), 0);
  return {
    ...{ handler, taking: taking.length, draining: drained.length, drainingId: drained[0]?.workerId },
    slots: sum(({ slots }) => slots),
    busy: sum((worker) => Math.min(worker.slots, (held.get(worker.workerId) ?? 0) + worker.stuck)),
  };
}

/** As if all runs took as long as the latest of the job did in the middle, and so many went on at once. A guess, not a promise. */
async function estimate(
  { storage, clock }: OperationPorts,
  { job, position, atOnce }: { job: Job; position: number | undefined; atOnce: number },
): Promise<number | undefined> {
  if (position === undefined || atOnce < 1) return undefined;
  const { jobId } = job;
  const strips = await storage.insight.strips({ jobIds: [jobId], runs: SAMPLE_RUNS, visible: undefined });
  const durations = (strips.get(jobId) ?? []).flatMap(durationOf).sort((a, b) => a - b);
  const middle = durations[Math.floor(durations.length / 2)];
  return middle === undefined ? undefined : Math.round(clock.now() + (middle * position) / atOnce);
}

function durationOf({ startedAtMs, endedAtMs }: StripRun): number[] {
  return startedAtMs === undefined || endedAtMs === undefined ? [] : [Math.max(0, endedAtMs - startedAtMs)];
}
