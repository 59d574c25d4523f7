/**
 * Every endpoint for every kind of caller: allowed exactly where the table of permissions says. Strangers get 401, what a
 * caller may not see is 404, what they see and may not do is 403. A new endpoint without an entry here fails the test.
 */
import { type Caller, sees } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import type { Access } from './api/operation.ts';
import { CALLERS, HERE, makeScene, withoutAnything } from './role-matrix.fixture.ts';
import { aHandler, aKey, aSecret, at, aUser, byPersons, job, VIEW_ID } from './role-matrix-asks.fixture.ts';
import { endpointsOf, restDoor } from './role-matrix-door.fixture.ts';
import { type Entry, INSIGHT_ENTRIES, NARROWED_ENTRIES } from './role-matrix-insight.fixture.ts';
import {
  applyHere,
  everybody,
  here,
  inNamespaceHere,
  keyHere,
  namespaceHere,
  newHere,
  newKeyHere,
  newWorkerKeyHere,
  ofPersons,
  others,
  ownOrOthers,
  sessionOfOthers,
  signingKeyHere,
  somewhere,
} from './role-matrix-rules.fixture.ts';

const ENTRIES: Record<string, Entry> = {
  ...INSIGHT_ENTRIES,
  'POST /jobs': {
    ask: at('/jobs', { name: 'new', namespace: HERE.namespace, user_id: HERE.userId }),
    ...newHere('jobs.create'),
  },
  'POST /jobs/batch': {
    ask: at('/jobs/batch', { jobs: [{ name: 'new' }] }),
    ...somewhere('jobs.create'),
  },
  'GET /jobs': { ask: at('/jobs'), ...somewhere('jobs.read') },
  'GET /jobs/upcoming': { ask: at('/jobs/upcoming'), ...somewhere('jobs.read') },
  'POST /jobs/bulk to pause': {
    ask: at('/jobs/bulk', { action: 'pause', filter: { handler: 'none' } }),
    ...somewhere('jobs.pause'),
  },
  'POST /jobs/bulk to resume': {
    ask: at('/jobs/bulk', { action: 'resume', filter: { handler: 'none' } }),
    ...somewhere('jobs.pause'),
  },
  'POST /jobs/bulk to cancel': {
    ask: at('/jobs/bulk', { action: 'cancel', filter: { handler: 'none' } }),
    ...somewhere('jobs.cancel'),
  },
  'GET /jobs/{id}': { ask: job(), ...here('jobs.read') },
  'PUT /jobs/{id}': {
    ask: (scene) => ({ ...job()(scene), payload: { name: 'renamed' } }),
    ...here('jobs.update'),
  },
  'GET /jobs/by-key/{key}': {
    ask: at(`/jobs/by-key/cron?namespace=${HERE.namespace}`),
    ...here('jobs.read'),
  },
  'PUT /jobs/by-key/{key}': {
    ask: at(`/jobs/by-key/cron?namespace=${HERE.namespace}`, { name: 'renamed', user_id: HERE.userId }),
    ...applyHere,
  },
  'PATCH /jobs/{id}': {
    ask: (scene) => ({ ...job()(scene), payload: { name: 'renamed' } }),
    ...here('jobs.update'),
  },
  'DELETE /jobs/{id}': { ask: job(), ...here('jobs.cancel') },
  'DELETE /jobs/{id} to remove it': { ask: job('?purge=true'), ...here('jobs.delete', 'jobs.cancel') },
  'POST /jobs/{id}/cancel': { ask: job('/cancel'), ...here('jobs.cancel') },
  'POST /jobs/{id}/runNow': { ask: job('/runNow'), ...here('jobs.run') },
  'POST /jobs/{id}/pause': { ask: job('/pause'), ...here('jobs.pause') },
  'POST /jobs/{id}/resume': { ask: job('/resume'), ...here('jobs.pause') },
  'GET /jobs/{id}/status': { ask: job('/status'), ...here('jobs.read') },
  'GET /jobs/{id}/logs': { ask: job('/logs'), ...here('runs.read') },
  'GET /jobs/{id}/runs': { ask: job('/runs'), ...here('runs.read') },
  'POST /schedules/preview': {
    ask: at('/schedules/preview', { interval: '1h' }),
    ...somewhere('schedules.preview'),
  },
  'GET /runs': { ask: at('/runs'), ...somewhere('runs.read') },
  'GET /runs of a job': { ask: (scene) => ({ url: `/runs?job_id=${scene.jobId}` }), ...here('runs.read') },
  'GET /runs/{id}': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}` }),
    ...here('runs.read'),
  },
  'GET /runs/{id}/logs': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/logs` }),
    ...here('runs.read'),
  },
  'GET /runs/{id}/checkpoint': {
    ask: (scene) => ({ url: `/runs/${scene.deadRunId}/checkpoint` }),
    ...here('runs.read', 'payloads.read'),
  },
  'GET /runs/{id}/result': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/result` }),
    ...here('runs.read', 'payloads.read'),
  },
  'GET /runs/{id}/artifacts': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/artifacts` }),
    ...here('runs.read', 'payloads.read'),
  },
  'GET /runs/{id}/artifacts/{name}': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/artifacts/report.txt` }),
    ...here('runs.read', 'payloads.read'),
  },
  'GET /runs/{id}/logs as text': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/logs`, headers: { accept: 'text/plain' } }),
    ...here('logs.read'),
  },
  'POST /runs/{id}/cancel': {
    ask: (scene) => ({ url: `/runs/${scene.waitingRunId}/cancel` }),
    ...here('runs.cancel'),
  },
  'POST /runs/{id}/rerun': {
    ask: (scene) => ({ url: `/runs/${scene.finishedRunId}/rerun` }),
    ...here('runs.rerun'),
  },
  'GET /dead-letters': { ask: at('/dead-letters'), ...somewhere('dead_letters.read') },
  'GET /dead-letters/{id}': {
    ask: (scene) => ({ url: `/dead-letters/${scene.deadRunId}` }),
    ...here('dead_letters.read'),
  },
  'POST /dead-letters/{id}/redrive': {
    ask: (scene) => ({ url: `/dead-letters/${scene.deadRunId}/redrive` }),
    ...here('dead_letters.redrive'),
  },
  'POST /dead-letters/redrive': {
    ask: at('/dead-letters/redrive', { filter: { handler: 'none' } }),
    ...somewhere('dead_letters.redrive'),
  },
  'GET /workers': { ask: at('/workers'), ...somewhere('workers.read') },
  'GET /handlers': { ask: at('/handlers'), ...somewhere('handlers.read') },
  'GET /handlers/{name}': { ask: aHandler, ...somewhere('handlers.read') },
  'GET /workers/{id}': { ask: at('/workers/worker-1'), ...somewhere('workers.read') },
  'POST /workers/{id}/drain': { ask: at('/workers/worker-1/drain'), ...somewhere('workers.manage') },
  'POST /workers/{id}/undrain': { ask: at('/workers/worker-1/undrain'), ...somewhere('workers.manage') },
  'GET /job/executions': {
    ask: at('/job/executions?worker_id=w'),
    ...somewhere('workers.read', 'runs.read'),
  },
  'GET /events': {
    ask: () => ({ url: '/events', headers: { accept: 'application/json' } }),
    ...somewhere('events.read'),
  },

  'GET /live': {
    ask: () => ({ url: '/live', headers: { accept: 'application/json' } }),
    ...somewhere('events.read'),
  },
  'POST /session': {
    ask: async (scene) => {
      await aUser()(scene);
      return { url: '/session', payload: { name: 'ula', password: 'correct horse battery' } };
    },
    ...everybody('open'),
  },
  'GET /session/methods': { ask: at('/session/methods'), ...everybody('open') },
  'GET /session': { ask: at('/session'), ...everybody('self') },
  'DELETE /session': { ask: at('/session'), ...everybody('self') },
  'GET /sessions': { ask: at('/sessions'), ...ownOrOthers('users.read') },
  'GET /sessions of everybody': { ask: at('/sessions?all=true'), ...others('users.read') },
  'DELETE /sessions/{id}': {
    ask: async ({ fixture }) => {
      const who = { name: 'ula', password: 'correct horse battery' };
      await fixture.operations.createUser({ ...who, displayName: 'Ula', grants: [] });
      const { session } = await fixture.operations.signIn(who);
      return { url: `/sessions/${session.sessionId}` };
    },
    ...sessionOfOthers,
  },
  'GET /me/views': { ask: at('/me/views'), ...everybody('self') },
  'PUT /me/views/{id}': {
    ask: byPersons({ url: `/me/views/${VIEW_ID}`, payload: { screen: 'jobs', name: 'Paused', query: {} } }),
    ...ofPersons,
  },
  'DELETE /me/views/{id}': {
    ask: byPersons({ url: `/me/views/${VIEW_ID}` }),
    ...ofPersons,
  },
  'GET /me/preferences': { ask: at('/me/preferences'), ...everybody('self') },
  'PUT /me/preferences': {
    ask: byPersons({ url: '/me/preferences', payload: { zone: 'UTC' } }),
    ...ofPersons,
  },
  'GET /keys': { ask: at('/keys'), ...ownOrOthers('keys.read') },
  'POST /keys': {
    ask: at('/keys', { name: 'new', namespace: HERE.namespace, role: 'viewer' }),
    ...newKeyHere,
  },
  'POST /keys for a worker': {
    ask: at('/keys', { name: 'new', worker: { handlers: ['http'], namespaces: [HERE.namespace] } }),
    ...newWorkerKeyHere,
  },
  'GET /keys/{id}': { ask: aKey, ...keyHere('keys.read') },
  'PATCH /keys/{id}': {
    ask: async (scene) => ({ ...(await aKey(scene)), payload: { name: 'renamed' } }),
    ...keyHere('keys.manage'),
  },
  'POST /keys/{id}/rotate': {
    ask: async (scene) => ({ url: `${(await aKey(scene)).url}/rotate`, payload: {} }),
    ...keyHere('keys.manage'),
  },
  'DELETE /keys/{id}': { ask: aKey, ...keyHere('keys.manage') },
  'GET /namespaces': { ask: at('/namespaces'), ...somewhere('namespaces.read') },
  'POST /namespaces': { ask: at('/namespaces', { name: 'new' }), ...somewhere('namespaces.manage') },
  'GET /namespaces/{name}': { ask: at('/namespaces/team-a'), ...namespaceHere },
  'PATCH /namespaces/{name}': {
    ask: at('/namespaces/team-a', { description: 'theirs' }),
    ...somewhere('namespaces.manage'),
  },
  'DELETE /namespaces/{name}': { ask: at('/namespaces/empty'), ...somewhere('namespaces.manage') },
  'GET /namespaces/{name}/signing-keys': {
    ask: at('/namespaces/team-a/signing-keys'),
    ...inNamespaceHere('signing_keys.read'),
  },
  'POST /namespaces/{name}/signing-keys': {
    ask: at('/namespaces/team-a/signing-keys', {}),
    ...inNamespaceHere('signing_keys.manage'),
  },
  'DELETE /signing-keys/{id}': {
    ask: async ({ fixture }) => {
      const { key } = await fixture.operations.createSigningKey('team-a', {});
      return { url: `/signing-keys/${key.signingKeyId}` };
    },
    ...signingKeyHere,
  },
  'GET /secrets': { ask: at('/secrets?namespace=team-a'), ...inNamespaceHere('secrets.read') },
  'GET /secrets/{name}': { ask: aSecret(), ...inNamespaceHere('secrets.read') },
  'PUT /secrets/{name}': { ask: aSecret({ value: 'a new value' }), ...inNamespaceHere('secrets.manage') },
  'DELETE /secrets/{name}': { ask: aSecret(), ...inNamespaceHere('secrets.manage') },
  'GET /users': { ask: at('/users'), ...somewhere('users.read') },
  'POST /users': {
    ask: at('/users', { name: 'new', display_name: 'New', password: 'correct horse battery', grants: [] }),
    ...somewhere('users.manage'),
  },
  'GET /users/{id}': { ask: aUser(), ...somewhere('users.read') },
  'PATCH /users/{id}': { ask: aUser('', { display_name: 'Ulla' }), ...somewhere('users.manage') },
  'DELETE /users/{id}': { ask: aUser(), ...somewhere('users.manage') },
  'PUT /users/{id}/grants': { ask: aUser('/grants', { grants: [] }), ...somewhere('users.manage') },
  'POST /users/{id}/password': {
    ask: aUser('/password', { password: 'another horse battery' }),
    ...others('users.manage'),
  },
  'GET /audit': { ask: at('/audit'), ...somewhere('audit.read') },
  'GET /openapi.json': { ask: at('/openapi.json'), ...everybody('open') },
  'GET /docs': { ask: at('/docs'), ...everybody('open') },
  'GET /metrics': { ask: at('/metrics'), ...somewhere('metrics.read') },
};

/** Not among the endpoints of the interface, and guarded all the same. */
const METRICS = { method: 'GET', path: '/metrics', access: 'metrics.read' } as const;

const methodOf = (name: string) => name.split(' ')[0] as 'GET';

/** Several entries may ask the same endpoint for different things: "POST /jobs/bulk to pause". */
const endpointNamed = (entryName: string) => entryName.split(' ', 2).join(' ');

function accessByName(): Map<string, Access> {
  const described = [...endpointsOf(), METRICS];
  return new Map(
    described.flatMap(({ method, path, access }) =>
      [method].flat().map((one) => [`${one} ${path}`, access] as const),
    ),
  );
}

/** What is asked of a scene of its own. */
async function doorTo(entry: Entry, name: string) {
  const scene = await makeScene();
  const asked = { method: methodOf(name), ...(await entry.ask(scene)) };
  const door = restDoor(scene);
  return (caller: Caller | undefined) => door(asked, caller);
}

async function answerTo(entry: Entry, name: string, caller: Caller | undefined) {
  return (await doorTo(entry, name))(caller);
}

const withoutIds = (text: string) => text.replaceAll(/[0-9a-f-]{36}|req-\w+/g, 'id');

test('every endpoint has an entry, and every entry an endpoint', () => {
  const asked = new Set(Object.keys(ENTRIES).map(endpointNamed));
  expect([...asked].toSorted()).toEqual([...accessByName().keys()].toSorted());
});

test('every endpoint is described with the permissions that its entries need, and no others', () => {
  const sorted = (access: Iterable<string>) => [...new Set(access)].toSorted();
  for (const [name, access] of accessByName()) {
    const entries = Object.entries(ENTRIES).filter(([entryName]) => endpointNamed(entryName) === name);
    const needs = entries.flatMap(([, entry]) => [entry.needs].flat());
    expect(sorted(needs), name).toEqual(sorted([access].flat()));
  }
});

describe.each(Object.entries(ENTRIES))('%s', (name, entry) => {
  test('is allowed exactly where the permissions say', async () => {
    const verdicts: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    // Neither reading nor a refusal changes anything: a new scene, which takes most of the time, is for whoever comes after a change.
    let door = await doorTo(entry, name);
    for (const { words, caller } of CALLERS) {
      const { status, body } = await door(caller);
      if (status < 300 && !name.startsWith('GET ')) door = await doorTo(entry, name);
      verdicts[words] = status < 300 ? 'allowed' : status;
      expected[words] = caller ? entry.expected(caller) : entry.needs === 'open' ? 'allowed' : 401;
      if (status >= 300 && verdicts[words] !== expected[words]) verdicts[words] = body;
    }
    expect(verdicts).toEqual(expected);
  });
});

test('what a caller does not see is answered as what is not there, by every endpoint', async () => {
  const scene = await makeScene();
  const missing = withoutAnything(scene);
  const door = restDoor(scene);
  const unseeing = CALLERS.filter(({ caller }) => caller && !sees(caller, HERE));
  const told: string[] = [];
  let asked = 0;
  const ofJobs = Object.entries(ENTRIES).filter(([name]) => /^\w+ \/(jobs|runs|dead|stats|fail)/.test(name));
  for (const [name, entry] of [...ofJobs, ...Object.entries(NARROWED_ENTRIES)]) {
    const [there, gone] = [await entry.ask(scene), await entry.ask(missing)];
    // Others name nothing of the scene.
    if (JSON.stringify(there) === JSON.stringify(gone)) continue;
    asked += 1;
    for (const { words, caller } of unseeing) {
      const method = methodOf(name);
      const [ofThere, ofGone] = [
        await door({ method, ...there }, caller),
        await door({ method, ...gone }, caller),
      ];
      const [said, meant] = [ofThere, ofGone].map(({ status, body }) => `${status} ${withoutIds(body)}`);
      if (said !== meant) told.push(`${name} by ${words}: ${said} / ${meant}`);
    }
  }
  expect(told).toEqual([]);
  expect(asked).toBeGreaterThan(30);
});

describe('what the table alone does not show', () => {
  const find = (words: string) => CALLERS.find((one) => one.words === words)!.caller;

  test('a list shows what lies where the caller may look, and nothing else', async () => {
    const names = async (words: string, url: string) => {
      const { body } = await answerTo({ ask: at(url), ...everybody('self') }, `GET ${url}`, find(words));
      return (JSON.parse(body) as { name?: string; job_name?: string }[]).map(
        (row) => row.name ?? row.job_name,
      );
    };
    for (const [url, all] of [
      ['/jobs', ['failing', 'cron']],
      ['/jobs/upcoming?within=7d&limit=2', ['cron', 'failing']],
      ['/dead-letters', ['failing']],
      ['/runs?status=failed', ['failing']],
    ] as const) {
      expect((await names('viewer here', url)).toSorted(), url).toEqual(all.toSorted());
      expect(await names('viewer of own jobs here, and these are', url)).toHaveLength(all.length);
      expect(await names('viewer of own jobs of the whole', url)).toHaveLength(all.length);
      expect(await names('viewer elsewhere', url), url).toEqual([]);
      expect(await names('viewer of own jobs here, and these are not', url), url).toEqual([]);
    }
    for (const words of ['viewer here', 'viewer of own jobs of the whole']) {
      expect((await names(words, '/jobs?namespace=team-a')).toSorted()).toEqual(['cron', 'failing']);
    }
    expect(await names('viewer of own jobs here, and these are', '/jobs?user_id=bob')).toEqual([]);
    expect(await names('viewer of own jobs here, and these are', '/jobs?user_id=me')).toHaveLength(2);
  });

  test('a batch is judged job by job', async () => {
    const jobs = [{ name: 'mine' }, { name: 'theirs', namespace: 'team-a' }];
    const { body } = await answerTo(
      { ask: at('/jobs/batch', { jobs }), ...everybody('self') },
      'POST /jobs/batch',
      find('editor elsewhere'),
    );
    const [mine, theirs] = JSON.parse(body) as [{ status: string }, { error: { code: string } }];
    expect([mine.status, theirs.error.code]).toEqual(['submitted', 'forbidden']);
  });

  test('bulk work touches only jobs that the caller may change', async () => {
    const bulk = (words: string) =>
      answerTo(
        {
          ask: at('/jobs/bulk', { action: 'cancel', filter: { status: 'scheduled' } }),
          ...everybody('self'),
        },
        'POST /jobs/bulk',
        find(words),
      );
    expect(JSON.parse((await bulk('operator here')).body)).toMatchObject({ matched: 2, changed: 2 });
    expect(JSON.parse((await bulk('operator elsewhere')).body)).toMatchObject({ matched: 0, changed: 0 });
  });
});
