/**
 * Defects, one each, put between the roles and a storage or a worker that is right. They exist to prove that the simulation would find
 * such a defect; none of them can be switched on anywhere else.
 */
import type { JobId, RunId } from '@carillon/domain';
import type { Heard, WorkerHome } from '@carillon/worker';
import { LANE_START } from '../../packages/server/src/storage/lane.ts';
import type { LeaseRef, Settlement } from '../../packages/server/src/storage/lease-store.ts';
import type { Fire } from '../../packages/server/src/storage/schedule-store.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { LeaseWatch } from '../../packages/server/src/worker-home/lease-watch.ts';
import { RemoteLeases } from '../../packages/server/src/worker-home/remote-leases.ts';
import { RemoteWorker } from '../../packages/server/src/worker-home/remote-worker.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import type { SimulationOptions } from './run-simulation.ts';
import { type PortName, wrapPorts } from './storage-ports.ts';

type Mutation = (storage: Storage) => Storage;

/** Where the defect is put. */
type Defect = Pick<SimulationOptions, 'mutate' | 'mutateWorker' | 'mutateHome' | 'patch'>;

/** A report is accepted though its run was taken back: it settles whoever holds the run now. */
const acceptStaleReports: Mutation = (storage) => {
  const runOf = new Map<string, RunId>();
  const key = ({ leaseId, position }: LeaseRef) => `${leaseId}/${position}`;
  const { leases } = storage;
  return replace(storage, 'leases', {
    async claim(request) {
      const batch = await leases.claim(request);
      for (const run of batch.runs) runOf.set(key(run), run.runId);
      return batch;
    },
    async settle(settlements, nowMs) {
      const workers = (await storage.members.workers()).map(({ workerId }) => workerId);
      const leased = await leases.leasedBy(workers);
      const redirected = settlements.map((settlement) => {
        const now = leased.find(({ runId }) => runId === runOf.get(key(settlement)));
        return now
          ? { ...settlement, leaseId: now.leaseId, position: now.position, epoch: now.epoch }
          : settlement;
      });
      return leases.settle(redirected, nowMs);
    },
  });
};

/** A cursor is fired whether or not it is still where the scheduler saw it. */
const fireWithoutCompare: Mutation = (storage) =>
  replace(storage, 'schedule', {
    async fire(fires, options) {
      const present = fires.map(async (fire) => {
        const read = await storage.jobs.getForChange(fire.cursor.jobId);
        if (read?.plannedNominalMs === undefined) return fire;
        const cursor = { ...fire.cursor, nominalAtMs: read.plannedNominalMs, jobVersion: read.job.version };
        return { ...fire, cursor };
      });
      return storage.schedule.fire(await Promise.all(present), options);
    },
  });

/** Silent workers lose their runs and are never told. */
const takeBackFromLiving: Mutation = (storage) =>
  replace(storage, 'members', {
    async markDead({ silent, ended }) {
      const workers = await storage.members.workers();
      const outlived = workers.filter(({ bootId }) => ended.includes(bootId));
      return [...silent, ...outlived].map(({ workerId }) => workerId);
    },
    async forgetWorkers() {},
  });

/** The cancel of a living run is acknowledged and not remembered. */
const forgetCancels: Mutation = (storage) =>
  replace(storage, 'jobs', {
    async cancelRun(runId, nowMs) {
      const workers = (await storage.members.workers()).map(({ workerId }) => workerId);
      const living = await storage.leases.leasedBy(workers);
      return living.some((run) => run.runId === runId) ? 'asked' : storage.jobs.cancelRun(runId, nowMs);
    },
  });

/** No worker is told which of its runs are to stop. */
const tellNoCancels: Mutation = (storage) =>
  replace(storage, 'members', {
    async cancelledRuns() {
      return [];
    },
  });

/** Nobody notices a lease that never reached its worker. */
const hideUnknownLeases: Mutation = (storage) =>
  replace(storage, 'members', {
    async unreceivedRuns() {
      return [];
    },
  });

/** Nobody compares what waits with the slots there are. */
const neverReconcile: Mutation = (storage) =>
  replace(storage, 'schedule', {
    async reconcile() {
      return [];
    },
  });

/** A lane is never looked over as a whole: what was not announced, or lies behind the mark, is not found. */
const neverLookOverLanes: Mutation = (storage) =>
  replace(storage, 'leases', {
    async lanes() {
      return [];
    },
  });

/** An interruption uses up an attempt. */
const chargeInterruptions: Mutation = (storage) =>
  replace(storage, 'leases', {
    settle: (settlements, nowMs) => storage.leases.settle(settlements.map(charged), nowMs),
  });

/** A repeated request makes a second job. */
const ignoreIdempotencyKeys: Mutation = (storage) =>
  replace(storage, 'jobs', {
    insert: (jobs) => storage.jobs.insert(jobs.map((job) => ({ ...job, idempotency: undefined }))),
  });

/** Runs are taken on however many outcomes wait to be recorded. */
const ignoreUnrecorded = (worker: LocalWorker): LocalWorker =>
  new Proxy(worker, {
    get(target, name) {
      if (name === 'unrecordedLeft') return Number.MAX_SAFE_INTEGER;
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });

/** What was alive a while ago counts as alive: the memory of a server that nobody told of the end of a run. */
const skipByOldMemory: Mutation = (storage) => {
  const aliveUntilMs = new Map<JobId, number>();
  return {
    ...replace(storage, 'leases', {
      async claim(request) {
        const batch = await storage.leases.claim(request);
        for (const { jobId } of batch.runs) aliveUntilMs.set(jobId, request.nowMs + REMEMBERED_MS);
        return batch;
      },
    }),
    schedule: replace(storage, 'schedule', {
      async fire(fires, options) {
        const skips = fires.map(async (fire) => {
          const job = await storage.jobs.getForChange(fire.cursor.jobId);
          const isAlive = (aliveUntilMs.get(fire.cursor.jobId) ?? 0) > options.nowMs;
          return isAlive && job?.job.overlap === 'skip' ? asSkipped(fire) : fire;
        });
        const changed = await Promise.all(skips);
        const fired = await storage.schedule.fire(changed, options);
        const skipped = changed.filter((fire, i) => fire !== fires[i] && fired.jobIds.has(fire.cursor.jobId));
        return { ...fired, skipped: fired.skipped + skipped.length };
      },
    }).schedule,
  };
};

const REMEMBERED_MS = 10_000;

function asSkipped(fire: Fire): Fire {
  const skipped = fire.runs.map(({ runId, nominalAtMs: atMs }) => ({
    ...{ runId, reason: 'misfire' as const, fromMs: atMs, toMs: atMs, count: 1, exact: true },
  }));
  return { ...fire, runs: [], skipped: [...fire.skipped, ...skipped] };
}

/** The next change of a job forgets what was skipped. */
const forgetSkips: Mutation = (storage) =>
  replace(storage, 'jobs', {
    apply: (change) =>
      storage.jobs.apply(
        change.audit?.action === 'jobs.skip'
          ? change
          : { ...change, job: { ...change.job, skips: undefined } },
      ),
  });

/** Schedules wait until less waits to be executed. */
const fireBehindBacklog: Mutation = (storage) =>
  replace(storage, 'schedule', {
    async fire(fires, options) {
      const waiting = await storage.housekeeping.countWaiting(options.nowMs);
      if (waiting < WAITING_MAX) return storage.schedule.fire(fires, options);
      const later = new Set(fires.map(({ cursor }) => cursor.jobId));
      return { jobIds: new Set<JobId>(), later, opened: [], waiting: [], skipped: 0 };
    },
  });

const WAITING_MAX = 20;

/** Of a priority the oldest is claimed first, whoever it is of. */
const firstComeFirstServed: Mutation = (storage) =>
  replace(storage, 'leases', {
    async claim(request) {
      const { pick } = request;
      if (!('lanes' in pick)) return storage.leases.claim(request);
      const heads = await storage.leases.lanes({ after: undefined, limit: 10_000 });
      heads.sort((a, b) => a.laneAtMs - b.laneAtMs);
      const lanes = pick.lanes.map((wanted) => {
        const oldest = heads.findIndex(({ priority }) => priority === wanted.lane.priority);
        const [lane] = oldest < 0 ? [] : heads.splice(oldest, 1);
        return lane ? { ...wanted, lane, after: LANE_START } : { ...wanted, runsMax: 0 };
      });
      return storage.leases.claim({ ...request, pick: { ...pick, lanes } });
    },
  });

/** A job may have one run more than it allows. */
const oneTooMany: Mutation = (storage) =>
  replace(storage, 'jobs', {
    insert: (jobs) =>
      storage.jobs.insert(
        jobs.map((entry) => ({
          ...entry,
          job: { ...entry.job, maxConcurrency: entry.job.maxConcurrency + 1 },
        })),
      ),
  });

/** With a silent worker all that live are given up for dead. */
const markLivingDead: Mutation = (storage) =>
  replace(storage, 'members', {
    async markDead({ silent, ...request }) {
      const workers = silent.length === 0 ? [] : await storage.members.workers();
      return storage.members.markDead({ silent: [...silent, ...workers], ...request });
    },
  });

/** A checkpoint is saved though its run was taken back: for whoever holds the run now. */
const saveStaleCheckpoints: Mutation = (storage) => {
  const { runState } = storage;
  return replace(storage, 'runState', {
    async saveCheckpoints(saved, nowMs) {
      await runState.saveCheckpoints(saved, nowMs);
      return saved.map(() => true);
    },
  });
};

/** A checkpoint that comes late replaces one that was saved after it. */
const saveLateCheckpoints: Mutation = (storage) => {
  let sequence = 0;
  return replace(storage, 'runState', {
    saveCheckpoints(saved, nowMs) {
      sequence += 1;
      return storage.runState.saveCheckpoints(
        saved.map((checkpoint) => ({ ...checkpoint, sequence })),
        nowMs,
      );
    },
  });
};

/** The next attempt starts over. */
const forgetCheckpoints: Mutation = (storage) =>
  replace(storage, 'leases', {
    async claim(request) {
      const batch = await storage.leases.claim(request);
      return { ...batch, runs: batch.runs.map((run) => ({ ...run, checkpoint: undefined })) };
    },
  });

/** A worker on another machine goes on however long nobody has heard it. */
const trustForEver = (home: WorkerHome): WorkerHome => {
  const trusting = (heard: Heard | undefined) => heard && { ...heard, trustMs: 3_600_000 };
  return new Proxy(home, {
    get(target, name) {
      if (name === 'beat') return async () => trusting(await target.beat());
      if (name === 'register') return async () => trusting(await target.register());
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
};

/** A home hands over a batch though it has given its lease back. */
const startGivenUp = () =>
  replaceMethod(
    RemoteWorker.prototype,
    'accept',
    (accept) =>
      function (this: RemoteWorker, batch) {
        const undo = replaceMethod(LeaseWatch.prototype, 'wasGivenUp', () => () => false);
        accept.call(this, batch);
        undo();
      },
  );

/** What was claimed for a worker that leaves stays its own. */
const keepWhatWasClaimed = () => replaceMethod(RemoteWorker.prototype, 'giveBackAll', () => async () => 0);

/** A worker says its last word when it is told to stop, and goes on. */
const leaveTooEarly = (home: WorkerHome): WorkerHome =>
  new Proxy(home, {
    get(target, name) {
      if (name === 'takeNoMore') return () => void target.leave();
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });

/** What a worker had when it dialled again is not counted. */
const forgetEarlierStreams = () => {
  const right = Object.getOwnPropertyDescriptor(RemoteLeases.prototype, 'runCount')!;
  Object.defineProperty(RemoteLeases.prototype, 'runCount', { ...right, get: () => 0 });
  return () => void Object.defineProperty(RemoteLeases.prototype, 'runCount', right);
};

/** Answers how to put the right one back. */
function replaceMethod<Role extends object, Name extends keyof Role>(
  role: Role,
  name: Name,
  replacement: (right: Role[Name]) => Role[Name],
): () => void {
  const right = role[name];
  role[name] = replacement(right);
  return () => {
    role[name] = right;
  };
}

function charged(settlement: Settlement): Settlement {
  const { next } = settlement;
  const isInterruption = /was lost|never reached|could not be reached|shut down/.test(settlement.error ?? '');
  if (next.kind !== 'again' || !isInterruption) return settlement;
  return { ...settlement, next: { ...next, attempt: next.attempt + 1 } };
}

function replace<Name extends PortName>(
  storage: Storage,
  name: Name,
  methods: Partial<Storage[Name]>,
): Storage {
  const replaced = new Proxy(storage[name], {
    get(target, method) {
      const mutated: unknown = Reflect.get(methods, method);
      if (mutated) return mutated;
      const real = Reflect.get(target, method) as (...args: unknown[]) => unknown;
      return real.bind(target);
    },
  });
  return { ...wrapPorts(storage, (_, port) => port), [name]: replaced };
}

export const MUTATIONS = {
  acceptStaleReports: { mutate: acceptStaleReports },
  fireWithoutCompare: { mutate: fireWithoutCompare },
  takeBackFromLiving: { mutate: takeBackFromLiving },
  forgetCancels: { mutate: forgetCancels },
  tellNoCancels: { mutate: tellNoCancels },
  hideUnknownLeases: { mutate: hideUnknownLeases },
  neverReconcile: { mutate: neverReconcile },
  neverLookOverLanes: { mutate: neverLookOverLanes },
  chargeInterruptions: { mutate: chargeInterruptions },
  ignoreIdempotencyKeys: { mutate: ignoreIdempotencyKeys },
  skipByOldMemory: { mutate: skipByOldMemory },
  forgetSkips: { mutate: forgetSkips },
  oneTooMany: { mutate: oneTooMany },
  markLivingDead: { mutate: markLivingDead },
  fireBehindBacklog: { mutate: fireBehindBacklog },
  firstComeFirstServed: { mutate: firstComeFirstServed },
  saveStaleCheckpoints: { mutate: saveStaleCheckpoints },
  saveLateCheckpoints: { mutate: saveLateCheckpoints },
  forgetCheckpoints: { mutate: forgetCheckpoints },
  ignoreUnrecorded: { mutateWorker: ignoreUnrecorded },
  trustForEver: { mutateHome: trustForEver },
  startGivenUp: { patch: startGivenUp },
  keepWhatWasClaimed: { patch: keepWhatWasClaimed },
  leaveTooEarly: { mutateHome: leaveTooEarly },
  forgetEarlierStreams: { patch: forgetEarlierStreams },
} as const satisfies Readonly<Record<string, Defect>>;
