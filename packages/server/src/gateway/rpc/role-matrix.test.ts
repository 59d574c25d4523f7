import { rpc } from '@carillon/contract';
import { type Action, type Caller, type Grant, may, ROLES, type Role, SERVER, sees } from '@carillon/domain';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collect, RpcFixture } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

const PLACE = { namespace: 'default', userId: 'ada' };
const JOB = { codeLocation: 'report', schedule: { frequency: 'daily' }, ...PLACE };

interface Target {
  readonly jobId: string;
  /** Ended already. */
  readonly endedRunId: string;
  readonly waitingRunId: string;
  readonly deadRunId: string;
}

type Jobs = ReturnType<RpcFixture['jobs']>;
type Ask = (jobs: Jobs, target: Target) => Promise<unknown>;

/** Every method of the service: about one job that lies in a place, or about all that the caller may see. */
const CALLS: Record<keyof typeof rpc.JobService.method, { about: 'one' | 'all'; ask: Ask }> = {
  submitJob: { about: 'one', ask: (jobs) => jobs.submitJob(JOB) },
  submitJobs: { about: 'one', ask: (jobs) => jobs.submitJobs({ jobs: [JOB] }).then(firstRefusal) },
  retrieveAllJobs: { about: 'all', ask: (jobs) => collect(jobs.retrieveAllJobs({})) },
  listJobs: { about: 'all', ask: (jobs) => jobs.listJobs({}) },
  getJob: { about: 'one', ask: (jobs, { jobId }) => jobs.getJob({ jobId }) },
  getJobStatus: { about: 'one', ask: (jobs, { jobId }) => jobs.getJobStatus({ jobId }) },
  updateJob: { about: 'one', ask: (jobs, { jobId }) => jobs.updateJob({ jobId, name: 'new' }) },
  pauseJob: { about: 'one', ask: (jobs, { jobId }) => jobs.pauseJob({ jobId }) },
  resumeJob: { about: 'one', ask: (jobs, { jobId }) => jobs.resumeJob({ jobId }) },
  cancelJob: { about: 'one', ask: (jobs, { jobId }) => jobs.cancelJob({ jobId }) },
  deleteJob: { about: 'one', ask: (jobs, { jobId }) => jobs.deleteJob({ jobId }) },
  runJobNow: { about: 'one', ask: (jobs, { jobId }) => jobs.runJobNow({ jobId }) },
  getJobsInNext5Mins: { about: 'all', ask: (jobs) => jobs.getJobsInNext5Mins({}) },
  previewSchedule: { about: 'all', ask: (jobs) => jobs.previewSchedule({ schedule: { interval: '1h' } }) },
  getExecHistory: { about: 'one', ask: (jobs, { jobId }) => jobs.getExecHistory({ jobId }) },
  listRuns: {
    about: 'one',
    ask: (jobs, { jobId }) => jobs.listRuns({ of: { case: 'jobId', value: jobId } }),
  },
  getRun: { about: 'one', ask: (jobs, { endedRunId: runId }) => jobs.getRun({ runId }) },
  cancelRun: { about: 'one', ask: (jobs, { waitingRunId: runId }) => jobs.cancelRun({ runId }) },
  rerunRun: { about: 'one', ask: (jobs, { endedRunId: runId }) => jobs.rerunRun({ runId }) },
  listDeadLetters: { about: 'all', ask: (jobs) => jobs.listDeadLetters({}) },
  redriveDeadLetter: { about: 'one', ask: (jobs, { deadRunId: runId }) => jobs.redriveDeadLetter({ runId }) },
  listWorkers: { about: 'all', ask: (jobs) => jobs.listWorkers({}) },
  watchEvents: {
    about: 'all',
    ask: async (jobs) => {
      const stream = jobs.watchEvents({})[Symbol.asyncIterator]();
      await gateway.asTimePasses(stream.next());
      await stream.return?.();
    },
  },
};

const grant = (fields: Partial<Grant>): Grant => ({
  namespace: 'default',
  role: 'viewer',
  ownOnly: false,
  ...fields,
});
const caller = (fields: Partial<Caller>): Caller => ({ ...SERVER, kind: 'key', name: 'a key', ...fields });
const ownJobs = (role: Role, userId: string): Caller =>
  caller({ userId, grants: [grant({ role, ownOnly: true })] });

const CALLERS: Record<string, Caller> = {
  ...Object.fromEntries(
    ROLES.flatMap((role) => [
      [`a ${role} of the namespace`, caller({ grants: [grant({ role })] })],
      [`a ${role} of everything`, caller({ grants: [grant({ role, namespace: '*' })] })],
      [`a ${role} of another namespace`, caller({ grants: [grant({ role, namespace: 'other' })] })],
      [`a ${role} of their own jobs`, ownJobs(role, 'ada')],
      [`a ${role} of jobs of their own, not these`, ownJobs(role, 'bob')],
    ]),
  ),
  'an admin whose key may only read jobs': caller({ scopes: new Set<Action>(['jobs.read']) }),
  'an admin whose key may only delete jobs': caller({ scopes: new Set<Action>(['jobs.delete']) }),
  'somebody without any grant': caller({ grants: [] }),
};

test('every method of the service is in the list of calls and in this test', () => {
  const served = gateway.methods
    .filter(({ method }) => method.parent.typeName === rpc.JobService.typeName)
    .map(({ method }) => method.localName);
  expect(served.sort()).toEqual(rpc.JobService.methods.map(({ localName }) => localName).sort());
  expect(Object.keys(CALLS).sort()).toEqual(served);
});

test.each(Object.keys(CALLERS))('%s may call exactly what the table of permissions says', async (name) => {
  const asking = CALLERS[name]!;
  const jobs = gateway.jobs();
  const answers: Record<string, string> = {};
  const expected: Record<string, string> = {};
  const deadRunId = await makeDeadLetter();
  for (const { method, access } of gateway.methods) {
    const call = CALLS[method.localName as keyof typeof CALLS];
    if (call === undefined || typeof access === 'string') continue;
    gateway.caller = SERVER;
    const target = await makeTarget(jobs, deadRunId);
    gateway.caller = asking;
    answers[method.name] = await outcomeOf(call.ask(jobs, target));
    expected[method.name] = verdict(asking, {
      access,
      about: call.about,
      isNew: /^Submit/.test(method.name),
    });
  }
  expect(answers).toEqual(expected);
});

test('nobody without a key calls anything but the health service', async () => {
  for (const { method, access } of gateway.methods) {
    // Reflection wants both ways at once, which HTTP/1.1 has not; its own test tries it without a key.
    if (method.methodKind === 'bidi_streaming') continue;
    const response = await fetch(`${gateway.address}/${method.parent.typeName}/${method.name}`, {
      method: 'POST',
      headers: {
        'content-type': method.methodKind === 'unary' ? 'application/json' : 'application/connect+json',
      },
      body: '{}',
    });
    const text = await response.text();
    expect([method.name, /unauthenticated/.test(text)]).toEqual([method.name, access !== 'open']);
  }
  expect(
    gateway.methods.filter(({ access }) => access === 'open').map(({ method }) => method.parent.typeName),
  ).toEqual(['grpc.health.v1.Health', 'grpc.health.v1.Health']);
});

test('the runs of a worker are shown to those who may see workers', async () => {
  const asked = { of: { case: 'workerId', value: 'worker-1' } } as const;
  gateway.caller = CALLERS['an admin whose key may only read jobs']!;
  expect(await outcomeOf(gateway.jobs().listRuns(asked))).toBe('forbidden');
  gateway.caller = CALLERS['a viewer of everything']!;
  expect(await outcomeOf(gateway.jobs().listRuns(asked))).toBe('answered');
});

function verdict(
  asking: Caller,
  { access, about, isNew }: { access: readonly Action[]; about: 'one' | 'all'; isNew: boolean },
): string {
  const allowed = access.every((action) => may(asking, action, about === 'one' ? PLACE : undefined));
  if (allowed) return 'answered';
  // Whoever makes something names its place; what is there already and cannot be seen is not there.
  return about === 'all' || isNew || sees(asking, PLACE) ? 'forbidden' : 'not found';
}

async function makeTarget(jobs: Jobs, deadRunId: string): Promise<Target> {
  const { jobId } = await jobs.submitJob(JOB);
  const { runId: endedRunId } = await jobs.runJobNow({ jobId });
  await jobs.cancelRun({ runId: endedRunId });
  const { runId: waitingRunId } = await jobs.runJobNow({ jobId });
  return { jobId, endedRunId, waitingRunId, deadRunId };
}

async function makeDeadLetter(): Promise<string> {
  await gateway.jobs().submitJob({ codeLocation: 'report', ...PLACE });
  const batch = await gateway.claimDue();
  await gateway.settle(batch, { status: 'FAILED', next: { kind: 'dead', reason: 'retries_exhausted' } });
  return batch.runs[0]!.runId;
}

async function firstRefusal({ results }: rpc.SubmitJobsResponse): Promise<void> {
  if (results[0]?.refused?.code === 'forbidden') throw new ConnectError('refused', Code.PermissionDenied);
}

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    const { code, message } = ConnectError.from(error);
    if (code === Code.PermissionDenied) return 'forbidden';
    return code === Code.NotFound ? 'not found' : message;
  }
}
