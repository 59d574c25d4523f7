/**
 * Every call for every kind of caller: allowed exactly where the table of permissions says, by the same rules as REST. What a
 * caller may not see is not found, what they see and may not do is refused. A new call without an entry here fails the test.
 */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { type Caller, SERVER, sees } from '@carillon/domain';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CALLERS, HERE } from '../role-matrix.fixture.ts';
import {
  applyHere,
  everybody,
  here,
  inNamespaceHere,
  keyHere,
  namespaceHere,
  newHere,
  newKeyHere,
  others,
  ownOrOthers,
  type Rule,
  sessionOfOthers,
  signingKeyHere,
  somewhere,
} from '../role-matrix-rules.fixture.ts';
import { collect, RpcFixture } from './rpc.fixture.ts';

let gateway: RpcFixture;
let names = 0;
beforeEach(async () => {
  gateway = await RpcFixture.start();
  await gateway.handlers.recordSchemas([
    { name: 'report', description: undefined, parameters: undefined, origin: 'program' },
  ]);
  for (const name of ['team-a', 'team-b']) await gateway.operations.createNamespace({ name });
});
afterEach(() => gateway.stop());

const PLACE = { namespace: HERE.namespace, userId: HERE.userId! };
const JOB = { codeLocation: 'report', schedule: { frequency: 'daily' }, ...PLACE };
const PASSWORD = 'correct horse battery';

const COMING_FIRE = timestampFromDate(new Date('2090-01-01T12:00:00Z'));
const SECRET = { namespace: HERE.namespace, name: 'token' };

interface Target {
  readonly jobId: string;
  readonly jobKey: string;
  /** Ended already. */
  readonly endedRunId: string;
  readonly waitingRunId: string;
  readonly deadRunId: string;
  readonly userId: string;
  readonly keyId: string;
  readonly sessionId: string;
  readonly signingKeyId: string;
  readonly emptyNamespace: string;
  /** Of nothing so far. */
  readonly newName: string;
}

const jobs = () => gateway.jobs();
const accounts = () => gateway.client(rpc.AccountService);
const audit = () => gateway.client(rpc.AuditService);

interface Entry extends Rule {
  readonly ask: (target: Target) => Promise<unknown>;
}
type EntryOf<Service extends { method: object }> = Record<keyof Service['method'], Entry>;

const noJobs = { handler: 'none' };
const withPayloads = here('runs.read', 'payloads.read');
const JOB_CALLS: EntryOf<typeof rpc.JobService> = {
  submitJob: { ask: () => jobs().submitJob(JOB), ...newHere('jobs.create') },
  submitJobs: {
    ask: () =>
      jobs()
        .submitJobs({ jobs: [JOB] })
        .then(firstRefusal),
    ...newHere('jobs.create'),
  },
  retrieveAllJobs: { ask: () => collect(jobs().retrieveAllJobs({})), ...somewhere('jobs.read') },
  listJobs: { ask: () => jobs().listJobs({}), ...somewhere('jobs.read') },
  getJob: { ask: ({ jobId }) => jobs().getJob({ jobId }), ...here('jobs.read') },
  getJobByKey: {
    ask: ({ jobKey }) => jobs().getJobByKey({ key: jobKey, namespace: HERE.namespace }),
    ...here('jobs.read'),
  },
  applyJob: {
    ask: ({ jobKey }) => jobs().applyJob({ job: { ...JOB, key: jobKey } }),
    ...applyHere,
  },
  getJobStatus: { ask: ({ jobId }) => jobs().getJobStatus({ jobId }), ...here('jobs.read') },
  updateJob: { ask: ({ jobId }) => jobs().updateJob({ jobId, name: 'new' }), ...here('jobs.update') },
  pauseJob: { ask: ({ jobId }) => jobs().pauseJob({ jobId }), ...here('jobs.pause') },
  resumeJob: { ask: ({ jobId }) => jobs().resumeJob({ jobId }), ...here('jobs.pause') },
  skipFire: { ask: ({ jobId }) => jobs().skipFire({ jobId, at: COMING_FIRE }), ...here('jobs.pause') },
  unskipFire: { ask: ({ jobId }) => jobs().unskipFire({ jobId, at: COMING_FIRE }), ...here('jobs.pause') },
  cancelJob: { ask: ({ jobId }) => jobs().cancelJob({ jobId }), ...here('jobs.cancel') },
  deleteJob: { ask: ({ jobId }) => jobs().deleteJob({ jobId }), ...here('jobs.delete', 'jobs.cancel') },
  runJobNow: { ask: ({ jobId }) => jobs().runJobNow({ jobId }), ...here('jobs.run') },
  getJobsInNext5Mins: { ask: () => jobs().getJobsInNext5Mins({}), ...somewhere('jobs.read') },
  listUpcomingJobs: { ask: () => jobs().listUpcomingJobs({}), ...somewhere('jobs.read') },
  bulkChangeJobs: {
    ask: () => jobs().bulkChangeJobs({ action: 'pause', filter: noJobs }),
    ...somewhere('jobs.pause'),
  },
  listStrips: { ask: ({ jobId }) => jobs().listStrips({ jobIds: [jobId] }), ...somewhere('runs.read') },
  whyJob: { ask: ({ jobId }) => jobs().whyJob({ jobId }), ...here('jobs.read') },
  listJobVersions: { ask: ({ jobId }) => jobs().listJobVersions({ jobId }), ...here('jobs.read') },
  restoreJob: {
    ask: ({ jobId }) => jobs().restoreJob({ jobId, version: 1 }),
    ...here('jobs.read', 'jobs.update'),
  },
  search: { ask: () => jobs().search({ q: 'daily' }), ...somewhere('jobs.read') },
  getJobLogs: { ask: ({ jobId }) => jobs().getJobLogs({ jobId }), ...here('runs.read') },
  previewSchedule: {
    ask: () => jobs().previewSchedule({ schedule: { interval: '1h' } }),
    ...somewhere('schedules.preview'),
  },
  getExecHistory: { ask: ({ jobId }) => jobs().getExecHistory({ jobId }), ...here('runs.read') },
  listRuns: {
    ask: ({ jobId }) => jobs().listRuns({ of: { case: 'jobId', value: jobId } }),
    ...here('runs.read'),
  },
  getRun: { ask: ({ endedRunId: runId }) => jobs().getRun({ runId }), ...here('runs.read') },
  getRunCheckpoint: { ask: ({ deadRunId: runId }) => jobs().getRunCheckpoint({ runId }), ...withPayloads },
  getRunResult: { ask: ({ deadRunId: runId }) => collect(jobs().getRunResult({ runId })), ...withPayloads },
  listRunArtifacts: { ask: ({ deadRunId: runId }) => jobs().listRunArtifacts({ runId }), ...withPayloads },
  getRunArtifact: {
    ask: ({ deadRunId: runId }) => collect(jobs().getRunArtifact({ runId, name: 'report.txt' })),
    ...withPayloads,
  },
  whyRun: { ask: ({ endedRunId: runId }) => jobs().whyRun({ runId }), ...here('runs.read') },
  watchRunLog: {
    ask: ({ endedRunId: runId }) => gateway.asTimePasses(collect(jobs().watchRunLog({ runId }))),
    ...here('logs.read'),
  },
  getRunLogs: { ask: ({ endedRunId: runId }) => jobs().getRunLogs({ runId }), ...here('runs.read') },
  cancelRun: { ask: ({ waitingRunId: runId }) => jobs().cancelRun({ runId }), ...here('runs.cancel') },
  rerunRun: { ask: ({ endedRunId: runId }) => jobs().rerunRun({ runId }), ...here('runs.rerun') },
  bulkChangeRuns: {
    ask: () => jobs().bulkChangeRuns({ action: 'cancel', filter: noJobs }),
    ...somewhere('runs.cancel'),
  },
  getStats: { ask: () => jobs().getStats({}), ...somewhere('runs.read') },
  getStatsNow: { ask: () => jobs().getStatsNow({}), ...somewhere('runs.read') },
  listFailures: { ask: () => jobs().listFailures({}), ...somewhere('runs.read') },
  listDeadLetters: { ask: () => jobs().listDeadLetters({}), ...somewhere('dead_letters.read') },
  getDeadLetter: {
    ask: ({ deadRunId: runId }) => jobs().getDeadLetter({ runId }),
    ...here('dead_letters.read'),
  },
  redriveDeadLetter: {
    ask: ({ deadRunId: runId }) => jobs().redriveDeadLetter({ runId }),
    ...here('dead_letters.redrive'),
  },
  redriveDeadLetters: {
    ask: () => jobs().redriveDeadLetters({ filter: noJobs }),
    ...somewhere('dead_letters.redrive'),
  },
  listWorkers: { ask: () => jobs().listWorkers({}), ...somewhere('workers.read') },
  listHandlers: { ask: () => jobs().listHandlers({}), ...somewhere('handlers.read') },
  getHandler: { ask: () => jobs().getHandler({ name: 'report' }), ...somewhere('handlers.read') },
  getWorker: { ask: () => jobs().getWorker({ workerId: 'worker-1' }), ...somewhere('workers.read') },
  drainWorker: { ask: () => jobs().drainWorker({ workerId: 'worker-1' }), ...somewhere('workers.manage') },
  undrainWorker: {
    ask: () => jobs().undrainWorker({ workerId: 'worker-1' }),
    ...somewhere('workers.manage'),
  },
  listEvents: { ask: () => jobs().listEvents({}), ...somewhere('events.read') },
  watchEvents: {
    ask: async () => {
      const stream = jobs().watchEvents({})[Symbol.asyncIterator]();
      await gateway.asTimePasses(stream.next());
      await stream.return?.();
    },
    ...somewhere('events.read'),
  },
};

const ACCOUNT_CALLS: EntryOf<typeof rpc.AccountService> = {
  getCaller: { ask: () => accounts().getCaller({}), ...everybody('self') },
  listNamespaces: { ask: () => accounts().listNamespaces({}), ...somewhere('namespaces.read') },
  createNamespace: {
    ask: ({ newName: name }) => accounts().createNamespace({ name }),
    ...somewhere('namespaces.manage'),
  },
  getNamespace: { ask: () => accounts().getNamespace({ name: HERE.namespace }), ...namespaceHere },
  updateNamespace: {
    ask: () => accounts().updateNamespace({ name: HERE.namespace, description: 'theirs' }),
    ...somewhere('namespaces.manage'),
  },
  deleteNamespace: {
    ask: ({ emptyNamespace: name }) => accounts().deleteNamespace({ name }),
    ...somewhere('namespaces.manage'),
  },
  listUsers: { ask: () => accounts().listUsers({}), ...somewhere('users.read') },
  createUser: { ask: ({ newName: name }) => accounts().createUser({ name }), ...somewhere('users.manage') },
  getUser: { ask: ({ userId }) => accounts().getUser({ userId }), ...somewhere('users.read') },
  updateUser: {
    ask: ({ userId }) => accounts().updateUser({ userId, displayName: 'Ulla' }),
    ...somewhere('users.manage'),
  },
  deleteUser: { ask: ({ userId }) => accounts().deleteUser({ userId }), ...somewhere('users.manage') },
  setUserGrants: { ask: ({ userId }) => accounts().setUserGrants({ userId }), ...somewhere('users.manage') },
  setUserPassword: {
    ask: ({ userId }) => accounts().setUserPassword({ userId, password: PASSWORD }),
    ...others('users.manage'),
  },
  listKeys: { ask: () => accounts().listKeys({}), ...ownOrOthers('keys.read') },
  createKey: {
    ask: () => accounts().createKey({ name: 'new', namespace: HERE.namespace, role: 'viewer' }),
    ...newKeyHere,
  },
  getKey: { ask: ({ keyId }) => accounts().getKey({ keyId }), ...keyHere('keys.read') },
  updateKey: {
    ask: ({ keyId }) => accounts().updateKey({ keyId, name: 'renamed' }),
    ...keyHere('keys.manage'),
  },
  rotateKey: { ask: ({ keyId }) => accounts().rotateKey({ keyId }), ...keyHere('keys.manage') },
  listSessions: { ask: () => accounts().listSessions({}), ...ownOrOthers('users.read') },
  endSession: { ask: ({ sessionId }) => accounts().endSession({ sessionId }), ...sessionOfOthers },
  revokeKey: { ask: ({ keyId }) => accounts().revokeKey({ keyId }), ...keyHere('keys.manage') },
  listSigningKeys: {
    ask: () => accounts().listSigningKeys({ name: HERE.namespace }),
    ...inNamespaceHere('signing_keys.read'),
  },
  createSigningKey: {
    ask: () => accounts().createSigningKey({ name: HERE.namespace }),
    ...inNamespaceHere('signing_keys.manage'),
  },
  deleteSigningKey: {
    ask: ({ signingKeyId }) => accounts().deleteSigningKey({ signingKeyId }),
    ...signingKeyHere,
  },
  listSecrets: {
    ask: () => accounts().listSecrets({ namespace: HERE.namespace }),
    ...inNamespaceHere('secrets.read'),
  },
  getSecret: { ask: () => accounts().getSecret(SECRET), ...inNamespaceHere('secrets.read') },
  setSecret: {
    ask: () => accounts().setSecret({ ...SECRET, value: 'a new value' }),
    ...inNamespaceHere('secrets.manage'),
  },
  deleteSecret: { ask: () => accounts().deleteSecret(SECRET), ...inNamespaceHere('secrets.manage') },
};

const AUDIT_CALLS: EntryOf<typeof rpc.AuditService> = {
  listAuditEntries: { ask: () => audit().listAuditEntries({}), ...somewhere('audit.read') },
};

/** Several entries may ask the same call for different things. */
const ENTRIES: Record<string, Entry> = {
  ...JOB_CALLS,
  ...ACCOUNT_CALLS,
  ...AUDIT_CALLS,
  'bulkChangeJobs to resume': {
    ask: () => jobs().bulkChangeJobs({ action: 'resume', filter: noJobs }),
    ...somewhere('jobs.pause'),
  },
  'bulkChangeJobs to cancel': {
    ask: () => jobs().bulkChangeJobs({ action: 'cancel', filter: noJobs }),
    ...somewhere('jobs.cancel'),
  },
  'bulkChangeRuns to rerun': {
    ask: () => jobs().bulkChangeRuns({ action: 'rerun', filter: noJobs }),
    ...somewhere('runs.rerun'),
  },
  'getStats of a job': { ask: ({ jobId }) => jobs().getStats({ jobId }), ...here('runs.read') },
  'listFailures of a job': { ask: ({ jobId }) => jobs().listFailures({ jobId }), ...here('runs.read') },
  'listRuns of a worker': {
    ask: () => jobs().listRuns({ of: { case: 'workerId', value: 'worker-1' } }),
    ...somewhere('runs.read'),
  },
};

const OURS = [rpc.JobService, rpc.AccountService, rpc.AuditService];
const callNamed = (entryName: string) => entryName.split(' ', 1)[0]!;

test('every call of our services is served and has an entry, and every entry a call', () => {
  const called = OURS.flatMap(({ methods }) => methods.map(({ localName }) => localName)).toSorted();
  const served = gateway.methods.filter(({ method }) => method.parent.typeName.startsWith('carillon.'));
  expect(served.map(({ method }) => method.localName).toSorted()).toEqual(called);
  expect([...new Set(Object.keys(ENTRIES).map(callNamed))].toSorted()).toEqual(called);
});

test('every call is described with the permissions that its entries need, and no others', () => {
  const sorted = (access: Iterable<string>) => [...new Set(access)].toSorted();
  for (const { method, access } of gateway.methods) {
    const entries = Object.entries(ENTRIES).filter(([name]) => callNamed(name) === method.localName);
    if (entries.length === 0) continue;
    const needs = entries.flatMap(([, entry]) => [entry.needs].flat());
    expect(sorted(needs), method.name).toEqual(sorted([access].flat()));
  }
});

test.each(CALLERS.filter(({ caller }) => caller !== undefined))(
  '$words: may call exactly what the table of permissions says',
  async ({ caller }) => {
    const answers: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    const deadRunId = await makeDeadLetter();
    for (const [name, { ask, expected: of }] of Object.entries(ENTRIES)) {
      const target = await makeTarget(deadRunId);
      gateway.caller = caller as Caller;
      answers[name] = await outcomeOf(ask(target));
      gateway.caller = SERVER;
      expected[name] = of(caller as Caller);
    }
    expect(answers).toEqual(expected);
  },
);

test('what a caller does not see is answered as what is not there, by every call about jobs and runs', async () => {
  const target = await makeTarget(await makeDeadLetter());
  const id = () => gateway.random.id();
  const ids = { jobId: id(), endedRunId: id(), waitingRunId: id(), deadRunId: id() };
  const missing = { ...target, ...ids, jobKey: 'missing' };
  for (const { words, caller } of CALLERS) {
    if (!caller || sees(caller, HERE)) continue;
    gateway.caller = caller;
    for (const [name, { ask }] of Object.entries(JOB_CALLS)) {
      // It passes time; it names neither.
      if (name === 'watchEvents') continue;
      expect(await outcomeOf(ask(missing)), `${name} by ${words}`).toEqual(await outcomeOf(ask(target)));
    }
  }
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

async function makeTarget(deadRunId: string): Promise<Target> {
  const { operations } = gateway;
  const newName = `name-${names++}`;
  const emptyNamespace = `empty-${newName}`;
  const { jobId } = await operations.createJob({ name: 'daily', key: newName, frequency: 'daily', ...PLACE });
  const { runId: endedRunId } = await operations.runJobNow(jobId);
  await operations.cancelRun(endedRunId);
  const { runId: waitingRunId } = await operations.runJobNow(jobId);
  const { userId } = await operations.createUser({ name: `user-${newName}`, password: PASSWORD });
  const { session } = await operations.signIn({ name: `user-${newName}`, password: PASSWORD });
  const { sessionId } = session;
  await operations.createNamespace({ name: emptyNamespace });
  const grant = { namespace: HERE.namespace, role: 'viewer', ownOnly: false } as const;
  const { key } = await operations.createKey({ name: 'a key', grants: [grant] });
  const { keyId } = key;
  await operations.setSecret(SECRET, 'a value');
  const { signingKeyId } = (await operations.createSigningKey(HERE.namespace, { overlapSeconds: 0 })).key;
  const ids = { jobId, endedRunId, waitingRunId, deadRunId, userId, keyId, signingKeyId, sessionId };
  return { ...ids, jobKey: newName, emptyNamespace, newName };
}

async function makeDeadLetter(): Promise<string> {
  await gateway.operations.createJob({ name: 'failing', handler: 'report', ...PLACE });
  const batch = await gateway.claimDue();
  await gateway.storage.runState.saveCheckpoints(
    [{ ...batch.runs[0]!, sequence: 1, data: '1' }],
    gateway.clock.now(),
  );
  await gateway.leaveArtifact(batch);
  const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
  await gateway.settle(batch, { status: 'FAILED', result: '{"rows":1}', next });
  return batch.runs[0]!.runId;
}

async function firstRefusal({ results }: rpc.SubmitJobsResponse): Promise<void> {
  if (results[0]?.refused?.code === 'forbidden') throw new ConnectError('refused', Code.PermissionDenied);
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
    return 'allowed';
  } catch (error) {
    const { code, message } = ConnectError.from(error);
    if (code === Code.PermissionDenied) return 403;
    return code === Code.NotFound ? 404 : message;
  }
}
