/**
 * Every endpoint for every kind of caller: allowed exactly where the table of permissions says. Strangers get 401, what a
 * caller may not see is 404, what they see and may not do is 403. A new endpoint without an entry here fails the test.
 */
import { type Action, type Caller, knowsNamespace, may, Refusal, sees } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import fastify, { type InjectOptions } from 'fastify';
import { describe, expect, test } from 'vitest';
import { answerProblems } from './answer-problems.ts';
import type { Endpoint } from './endpoint.ts';
import { allEndpoints } from './endpoints/all-endpoints.ts';
import type { EndpointContext } from './endpoints/endpoint-context.ts';
import { mountEndpoints } from './mount-endpoints.ts';
import { readJsonBodies } from './read-json-bodies.ts';
import { CALLERS, HERE, makeScene, type Scene } from './role-matrix.fixture.ts';

type Expected = 'allowed' | 403 | 404;

interface Entry {
  readonly ask: (scene: Scene) => Promise<Partial<InjectOptions>> | Partial<InjectOptions>;
  readonly expected: (caller: Caller) => Expected;
}

const allowedIf = (allowed: boolean, otherwise: 403 | 404 = 403): Expected =>
  allowed ? 'allowed' : otherwise;

/** About something that lies here: unseen it is not there, seen it needs the permission. */
const here = (action: Action) => (caller: Caller) =>
  sees(caller, HERE) ? allowedIf(may(caller, action, HERE)) : 404;
/** A list, or something that belongs to no namespace: the permission anywhere will do. */
const somewhere = (action: Action) => (caller: Caller) => allowedIf(may(caller, action));
const everybody = (): Expected => 'allowed';

const job =
  (suffix = '') =>
  (scene: Scene) => ({ url: `/jobs/${scene.jobId}${suffix}` });
const at = (url: string, payload?: object) => () => ({ url, ...(payload && { payload }) });

const keyHere = (action: 'keys.read' | 'keys.manage') => (caller: Caller) => {
  const place = { namespace: HERE.namespace };
  if (!may(caller, 'keys.read', place)) return allowedIf(false, may(caller, 'keys.read') ? 404 : 403);
  return allowedIf(may(caller, action, place));
};
const namespaceHere = (caller: Caller): Expected =>
  may(caller, 'namespaces.read') ? allowedIf(knowsNamespace(caller, HERE.namespace), 404) : 403;

const aKey = async ({ fixture }: Scene) => {
  const grant = { namespace: HERE.namespace, role: 'viewer', ownOnly: false } as const;
  const { key } = await fixture.operations.createKey({ name: 'a key', grant });
  return { url: `/keys/${key.keyId}` };
};
const aUser =
  (suffix = '', payload?: object) =>
  async ({ fixture }: Scene) => {
    const { userId } = await fixture.operations.createUser({
      ...{ name: 'ula', displayName: 'Ula', password: 'correct horse battery', grants: [] },
    });
    return { url: `/users/${userId}${suffix}`, ...(payload && { payload }) };
  };

const ENTRIES: Record<string, Entry> = {
  'POST /jobs': {
    ask: at('/jobs', { name: 'new', namespace: HERE.namespace, user_id: HERE.userId }),
    expected: (caller) => allowedIf(may(caller, 'jobs.create', HERE)),
  },
  'POST /jobs/batch': {
    ask: at('/jobs/batch', { jobs: [{ name: 'new' }] }),
    expected: somewhere('jobs.create'),
  },
  'GET /jobs': { ask: at('/jobs'), expected: somewhere('jobs.read') },
  'GET /jobs/upcoming': { ask: at('/jobs/upcoming'), expected: somewhere('jobs.read') },
  'POST /jobs/bulk': {
    ask: at('/jobs/bulk', { action: 'pause', filter: { handler: 'none' } }),
    expected: somewhere('jobs.pause'),
  },
  'GET /jobs/{id}': { ask: job(), expected: here('jobs.read') },
  'PUT /jobs/{id}': {
    ask: (scene) => ({ ...job()(scene), payload: { name: 'renamed' } }),
    expected: here('jobs.update'),
  },
  'PATCH /jobs/{id}': {
    ask: (scene) => ({ ...job()(scene), payload: { name: 'renamed' } }),
    expected: here('jobs.update'),
  },
  'DELETE /jobs/{id}': { ask: job(), expected: here('jobs.cancel') },
  'POST /jobs/{id}/runNow': { ask: job('/runNow'), expected: here('jobs.run') },
  'POST /jobs/{id}/pause': { ask: job('/pause'), expected: here('jobs.pause') },
  'POST /jobs/{id}/resume': { ask: job('/resume'), expected: here('jobs.pause') },
  'GET /jobs/{id}/status': { ask: job('/status'), expected: here('jobs.read') },
  'GET /jobs/{id}/logs': { ask: job('/logs'), expected: here('runs.read') },
  'GET /jobs/{id}/runs': { ask: job('/runs'), expected: here('runs.read') },
  'POST /schedules/preview': {
    ask: at('/schedules/preview', { interval: '1h' }),
    expected: somewhere('schedules.preview'),
  },
  'GET /runs/{id}': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}` }),
    expected: here('runs.read'),
  },
  'GET /runs/{id}/logs': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/logs` }),
    expected: here('runs.read'),
  },
  'POST /runs/{id}/cancel': {
    ask: (scene) => ({ url: `/runs/${scene.waitingRunId}/cancel` }),
    expected: here('runs.cancel'),
  },
  'POST /runs/{id}/rerun': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/rerun` }),
    expected: here('runs.rerun'),
  },
  'GET /dead-letters': { ask: at('/dead-letters'), expected: somewhere('dead_letters.read') },
  'GET /dead-letters/{id}': {
    ask: (scene) => ({ url: `/dead-letters/${scene.deadRunId}` }),
    expected: here('dead_letters.read'),
  },
  'POST /dead-letters/{id}/redrive': {
    ask: (scene) => ({ url: `/dead-letters/${scene.deadRunId}/redrive` }),
    expected: here('dead_letters.redrive'),
  },
  'POST /dead-letters/redrive': {
    ask: at('/dead-letters/redrive', { filter: { handler: 'none' } }),
    expected: somewhere('dead_letters.redrive'),
  },
  'GET /workers': { ask: at('/workers'), expected: somewhere('workers.read') },
  'GET /workers/{id}': { ask: at('/workers/worker-1'), expected: somewhere('workers.read') },
  'GET /job/executions': { ask: at('/job/executions?worker_id=w'), expected: somewhere('workers.read') },
  'GET /events': {
    ask: () => ({ url: '/events', headers: { accept: 'application/json' } }),
    expected: somewhere('events.read'),
  },

  'POST /session': {
    ask: async (scene) => {
      await aUser()(scene);
      return { url: '/session', payload: { name: 'ula', password: 'correct horse battery' } };
    },
    expected: everybody,
  },
  'GET /session': { ask: at('/session'), expected: everybody },
  'DELETE /session': { ask: at('/session'), expected: everybody },
  'GET /sessions': { ask: at('/sessions'), expected: somewhere('users.read') },
  'DELETE /sessions/{id}': {
    ask: async ({ fixture }) => {
      const who = { name: 'ula', password: 'correct horse battery' };
      await fixture.operations.createUser({ ...who, displayName: 'Ula', grants: [] });
      const { session } = await fixture.operations.signIn(who);
      return { url: `/sessions/${session.sessionId}` };
    },
    expected: somewhere('users.manage'),
  },
  'GET /keys': { ask: at('/keys'), expected: somewhere('keys.read') },
  'POST /keys': {
    ask: at('/keys', { name: 'new', namespace: HERE.namespace, role: 'viewer' }),
    expected: (caller) =>
      knowsNamespace(caller, HERE.namespace)
        ? allowedIf(may(caller, 'keys.manage', { namespace: HERE.namespace }))
        : allowedIf(false, may(caller, 'keys.manage') ? 404 : 403),
  },
  'GET /keys/{id}': { ask: aKey, expected: keyHere('keys.read') },
  'DELETE /keys/{id}': { ask: aKey, expected: keyHere('keys.manage') },
  'GET /namespaces': { ask: at('/namespaces'), expected: somewhere('namespaces.read') },
  'POST /namespaces': { ask: at('/namespaces', { name: 'new' }), expected: somewhere('namespaces.manage') },
  'GET /namespaces/{name}': { ask: at('/namespaces/team-a'), expected: namespaceHere },
  'PATCH /namespaces/{name}': {
    ask: at('/namespaces/team-a', { description: 'theirs' }),
    expected: somewhere('namespaces.manage'),
  },
  'DELETE /namespaces/{name}': { ask: at('/namespaces/empty'), expected: somewhere('namespaces.manage') },
  'GET /users': { ask: at('/users'), expected: somewhere('users.read') },
  'POST /users': {
    ask: at('/users', { name: 'new', display_name: 'New', password: 'correct horse battery', grants: [] }),
    expected: somewhere('users.manage'),
  },
  'GET /users/{id}': { ask: aUser(), expected: somewhere('users.read') },
  'PATCH /users/{id}': { ask: aUser('', { display_name: 'Ulla' }), expected: somewhere('users.manage') },
  'DELETE /users/{id}': { ask: aUser(), expected: somewhere('users.manage') },
  'PUT /users/{id}/grants': { ask: aUser('/grants', { grants: [] }), expected: somewhere('users.manage') },
  'POST /users/{id}/password': {
    ask: aUser('/password', { password: 'another horse battery' }),
    expected: somewhere('users.manage'),
  },
  'GET /audit': { ask: at('/audit'), expected: somewhere('audit.read') },
  'GET /openapi.json': { ask: at('/openapi.json'), expected: everybody },
  'GET /docs': { ask: at('/docs'), expected: everybody },
};

const namesOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>) =>
  [method].flat().map((one) => `${one} ${path}`);

function endpointsOf(scene?: Scene): Endpoint[] {
  return allEndpoints({
    operations: scene?.fixture.everyones ?? {},
    address: '',
    stopping: new AbortController().signal,
    authenticate: async () => {
      throw new Error('nobody is asked twice');
    },
  } as unknown as EndpointContext);
}

/** The endpoints with a door that lets in whom it is told to: who somebody is, is not the question here. */
async function doorTo(entry: Entry, name: string) {
  const scene = await makeScene();
  const method = name.split(' ')[0] as 'GET';
  const asked = { method, ...(await entry.ask(scene)) };
  let caller: Caller | undefined;
  const app = fastify();
  const problems = answerProblems(silentLog);
  app.setErrorHandler(problems.onError);
  app.decorateRequest('caller', undefined);
  readJsonBodies(app);
  mountEndpoints(app, endpointsOf(scene), async () => {
    if (caller) return caller;
    throw new Refusal('unauthorized', 'The request carries no key.');
  });
  return async (asking: Caller | undefined) => {
    caller = asking;
    const { statusCode: status, body } = await app.inject(asked);
    return { status, body };
  };
}

async function answerTo(entry: Entry, name: string, caller: Caller | undefined) {
  return (await doorTo(entry, name))(caller);
}

test('every endpoint has an entry, and every entry an endpoint', () => {
  expect(Object.keys(ENTRIES).toSorted()).toEqual(endpointsOf().flatMap(namesOf).toSorted());
});

describe.each(Object.entries(ENTRIES))('%s', (name, entry) => {
  const described = endpointsOf().find((endpoint) => namesOf(endpoint).includes(name));

  test('is allowed exactly where the permissions say', async () => {
    const verdicts: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    // Reading changes nothing, so that all may read the same scene.
    const door = name.startsWith('GET ') ? await doorTo(entry, name) : undefined;
    for (const { words, caller } of CALLERS) {
      const { status, body } = await (door ?? (await doorTo(entry, name)))(caller);
      verdicts[words] = status < 300 ? 'allowed' : status;
      const open = described?.access === 'open';
      expected[words] = caller ? entry.expected(caller) : open ? 'allowed' : 401;
      if (status >= 300 && verdicts[words] !== expected[words]) verdicts[words] = body;
    }
    expect(verdicts).toEqual(expected);
  });
});

describe('what the table alone does not show', () => {
  const find = (words: string) => CALLERS.find((one) => one.words === words)!.caller;

  test('removing a job needs more than cancelling it', async () => {
    const purge: Entry = { ask: (scene) => job('?purge=true')(scene), expected: here('jobs.delete') };
    expect((await answerTo(purge, 'DELETE /jobs/{id}', find('operator here'))).status).toBe(403);
    expect((await answerTo(purge, 'DELETE /jobs/{id}', find('editor here'))).status).toBe(200);
    expect((await answerTo(purge, 'DELETE /jobs/{id}', find('admin elsewhere'))).status).toBe(404);
  });

  test('a list shows what lies where the caller may look, and nothing else', async () => {
    const names = async (words: string, url: string) => {
      const { body } = await answerTo({ ask: at(url), expected: everybody }, `GET ${url}`, find(words));
      return (JSON.parse(body) as { name?: string; job_name?: string }[]).map(
        (row) => row.name ?? row.job_name,
      );
    };
    for (const [url, all] of [
      ['/jobs', ['failing', 'cron']],
      ['/jobs?namespace=team-a', ['failing', 'cron']],
      ['/jobs/upcoming?within=7d&limit=2', ['cron', 'failing']],
      ['/dead-letters', ['failing']],
    ] as const) {
      expect((await names('viewer here', url)).toSorted(), url).toEqual(all.toSorted());
      expect(await names('viewer of own jobs here, and these are', url)).toHaveLength(all.length);
      expect(await names('viewer of own jobs of the whole', url)).toHaveLength(all.length);
      expect(await names('viewer elsewhere', url), url).toEqual([]);
      expect(await names('viewer of own jobs here, and these are not', url), url).toEqual([]);
    }
    expect(await names('viewer here', '/jobs?namespace=team-b')).toEqual([]);
    expect(await names('viewer of own jobs here, and these are', '/jobs?user_id=bob')).toEqual([]);
    expect(await names('viewer of own jobs here, and these are', '/jobs?user_id=me')).toHaveLength(2);
  });

  test('a batch is judged job by job', async () => {
    const jobs = [{ name: 'mine' }, { name: 'theirs', namespace: 'team-a' }];
    const { body } = await answerTo(
      { ask: at('/jobs/batch', { jobs }), expected: everybody },
      'POST /jobs/batch',
      find('editor elsewhere'),
    );
    const [mine, theirs] = JSON.parse(body) as [{ status: string }, { error: { code: string } }];
    expect([mine.status, theirs.error.code]).toEqual(['submitted', 'forbidden']);
  });

  test('bulk work touches only jobs that the caller may change', async () => {
    const bulk = (words: string) =>
      answerTo(
        { ask: at('/jobs/bulk', { action: 'cancel', filter: { status: 'scheduled' } }), expected: everybody },
        'POST /jobs/bulk',
        find(words),
      );
    expect(JSON.parse((await bulk('operator here')).body)).toMatchObject({ matched: 2, changed: 2 });
    expect(JSON.parse((await bulk('operator elsewhere')).body)).toMatchObject({ matched: 0, changed: 0 });
  });
});
