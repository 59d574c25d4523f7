/** The scenery of the role matrix: callers with every kind of grant, and a owner with one of everything in it. */
import {
  type Action,
  type Caller,
  type Grant,
  type JobId,
  type Owner,
  ROLES,
  type RunId,
  SERVER,
  WORKER_SCOPES,
} from '@carillon/domain';
import { OperationsFixture } from '../operations/operations.fixture.ts';

/** Where everything lies that the matrix asks for. */
export const HERE: Owner = { namespace: 'team-a', userId: 'ann' };

export interface MatrixCaller {
  readonly words: string;
  readonly caller: Caller | undefined;
}

const ELSEWHERE: Grant = { namespace: 'team-b', role: 'editor', ownOnly: false };

export const CALLERS: readonly MatrixCaller[] = [
  { words: 'nobody', caller: undefined },
  callerWith('somebody without grants', []),
  ...ROLES.flatMap((role) => [
    callerWith(`${role} here`, [{ namespace: 'team-a', role, ownOnly: false }]),
    callerWith(`${role} of the whole`, [{ namespace: '*', role, ownOnly: false }]),
    callerWith(`${role} elsewhere`, [{ namespace: 'team-b', role, ownOnly: false }]),
    callerWith(`${role} of own jobs here, and these are`, [{ namespace: 'team-a', role, ownOnly: true }], {
      userId: 'ann',
    }),
    callerWith(
      `${role} of own jobs here, and these are not`,
      [{ namespace: 'team-a', role, ownOnly: true }],
      {
        userId: 'bob',
      },
    ),
    callerWith(`${role} of own jobs of the whole`, [{ namespace: '*', role, ownOnly: true }], {
      userId: 'ann',
    }),
    callerWith(
      `${role} of the whole with a key for reading jobs`,
      [{ namespace: '*', role, ownOnly: false }],
      {
        scopes: new Set<Action>(['jobs.read']),
      },
    ),
  ]),
  callerWith(
    'admin of the whole with a key for removing jobs',
    [{ namespace: '*', role: 'admin', ownOnly: false }],
    { scopes: new Set<Action>(['jobs.delete']) },
  ),
  callerWith('a worker key', [{ namespace: '*', role: 'admin', ownOnly: false }], {
    ...{ scopes: WORKER_SCOPES, offers: ['http'] },
  }),
  callerWith(
    'admin of the whole with a key for looking at workers',
    [{ namespace: '*', role: 'admin', ownOnly: false }],
    { scopes: new Set<Action>(['workers.read']) },
  ),
  callerWith('editor elsewhere with a key for making jobs', [ELSEWHERE], {
    scopes: new Set<Action>(['jobs.create']),
  }),
  callerWith('a worker key elsewhere', [ELSEWHERE], { scopes: WORKER_SCOPES, offers: ['http'] }),
];

function callerWith(
  words: string,
  grants: readonly Grant[],
  over: { userId?: string; scopes?: ReadonlySet<Action>; offers?: readonly string[] } = {},
): MatrixCaller {
  const { userId, scopes, offers } = over;
  return {
    words,
    caller: { ...SERVER, kind: 'key', id: 'key', name: words, grants, userId, scopes, offers },
  };
}

export interface Scene {
  readonly fixture: OperationsFixture;
  readonly jobId: JobId;
  readonly finishedRunId: RunId;
  readonly waitingRunId: RunId;
  readonly deadRunId: RunId;
}

export async function makeScene(): Promise<Scene> {
  const fixture = new OperationsFixture();
  const { operations } = fixture;
  for (const name of ['team-a', 'team-b', 'empty']) await operations.createNamespace({ name });
  const owner = { namespace: HERE.namespace, userId: HERE.userId };
  const { jobId } = await operations.createJob({
    ...{ name: 'cron', key: 'cron', cronExpression: '0 9 * * *' },
    ...owner,
  });
  const { runId: finishedRunId } = await operations.runJobNow(jobId);
  const done = { status: 'SUCCESS', result: '{"rows":1}', next: { kind: 'finish' } } as const;
  const ended = await fixture.claimDue();
  await fixture.leaveArtifact(ended);
  await fixture.settle(ended, done);

  const failing = await operations.createJob({ name: 'failing', cronExpression: '0 9 * * *', ...owner });
  const { runId: deadRunId } = await operations.runJobNow(failing.jobId);
  const batch = await fixture.claimDue();
  await fixture.storage.runState.saveCheckpoints(
    [{ ...batch.runs[0]!, sequence: 1, data: '1' }],
    fixture.clock.now(),
  );
  await fixture.settle(batch, {
    status: 'FAILED',
    next: { kind: 'dead', reason: 'retries_exhausted' },
  });
  const { runId: waitingRunId } = await operations.runJobNow(jobId);
  return { fixture, jobId, finishedRunId, waitingRunId, deadRunId };
}

/** The same with ids of nothing. */
export function withoutAnything(scene: Scene): Scene {
  const id = () => scene.fixture.random.id();
  return {
    ...{ fixture: scene.fixture, jobId: id() as JobId, finishedRunId: id() as RunId },
    ...{ waitingRunId: id() as RunId, deadRunId: id() as RunId },
  };
}
