/** Workers from the command line, against a real server: seen, drained while they run something, and their keys. */
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';
import { launchCarillon } from './run-carillon.ts';

const SOON = { withinMs: 60_000 };

interface Worker {
  readonly worker_id: string;
  readonly draining: boolean;
  readonly running: number;
}

let one: OneServer;
beforeAll(async () => {
  one = await startOneServer();
});
afterAll(() => one?.stop());

const { run, ok, json, createJob } = commandsIn(() => one.folder);

test('a worker is drained: it ends what it runs, takes nothing more, and goes on when it is undrained (hazard 22)', async () => {
  const asked: ServerResponse[] = [];
  const receiver = createServer((_, response) => void asked.push(response)).listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${await eventually(() => (receiver.address() as AddressInfo).port, SOON)}/`;
  try {
    const [worker] = await json<Worker[]>(['workers', 'list']);
    const id = worker!.worker_id;
    await createJob('slow', '--http', url);
    await eventually(() => expect(asked).toHaveLength(1), SOON);

    const draining = launchCarillon(['workers', 'drain', id, '--wait'], { cwd: one.folder });
    await eventually(() => expect(draining.said.stdout).toMatch(/takes no more runs; 1 run is left/), SOON);
    expect(await ok(['workers'])).toMatch(/draining/);
    await createJob('waits', '--http', url);
    asked[0]!.end('done');
    expect(await draining.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/no run is left/) });
    expect(await json(['jobs', 'list', '--text', 'slow'])).toMatchObject([{ status: 'COMPLETED' }]);
    expect(asked).toHaveLength(1);
    expect(await json<Worker[]>(['workers'])).toMatchObject([{ draining: true, running: 0 }]);

    expect(await ok(['workers', 'undrain', id])).toContain('takes runs again');
    await eventually(() => expect(asked).toHaveLength(2), SOON);
    asked[1]!.end('done');
    expect(await ok(['audit', '--action', 'workers.drain'])).toContain(id);
  } finally {
    for (const response of asked) response.destroy();
    receiver.close();
  }
}, 180_000);

test('a worker that is not there cannot be drained', async () => {
  expect(await run(['workers', 'drain', '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.abc.1'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('carillon workers'),
  });
});

test('a worker key connects workers and may do nothing else', async () => {
  await ok(['namespaces', 'create', 'media']);
  const made = await json<{ key: string; key_id: string; worker: object }>([
    ...['keys', 'create', 'thumbnails', '--worker', '--handlers', 'resize-image,script'],
    ...['--namespaces', 'media'],
  ]);
  expect(made.worker).toEqual({ handlers: ['resize-image', 'script'], namespaces: ['media'] });
  expect(await ok(['keys', 'list', '--name', 'thumbnails'])).toContain('connect workers for resize-image');

  const ask = (path: string, method = 'GET', body?: object) =>
    fetch(`${one.server.address}/api${path}`, {
      ...{ method, headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' } },
      ...(body && { body: JSON.stringify(body) }),
    });
  expect(await (await ask('/session')).json()).toMatchObject({ scopes: ['workers.connect'] });
  for (const path of ['/jobs', '/runs', '/workers', '/keys', '/users', '/namespaces', '/audit', '/sessions'])
    expect((await ask(path)).status, path).toBe(403);
  expect((await ask('/jobs', 'POST', { name: 'x', namespace: 'media' })).status).toBe(403);
  const another = { name: 'x', worker: { handlers: ['http'] } };
  expect((await ask('/keys', 'POST', another)).status).toBe(403);

  await ok(['keys', 'rotate', 'thumbnails', '--overlap', '0', '--yes']);
  await eventually(async () => expect((await ask('/session')).status).toBe(401), SOON);
  await ok(['keys', 'revoke', made.key_id, '--yes']);
}, 180_000);

test.each([
  ['without handlers', ['--worker']],
  ['without --worker', ['--handlers', 'http']],
  ['with a role', ['--worker', '--handlers', 'http', '--role', 'admin']],
])('a worker key %s is refused with a sentence', async (_, flags) => {
  expect(await run(['keys', 'create', 'w', ...flags])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--handlers'),
  });
});

test('carillon worker runs the built-in handlers on another machine, and SIGTERM drains it (hazard 22)', async () => {
  const asked: ServerResponse[] = [];
  const receiver = createServer((_, response) => void asked.push(response)).listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${await eventually(() => (receiver.address() as AddressInfo).port, SOON)}/`;
  const [inServer] = await json<Worker[]>(['workers', 'list']);
  const keyed = await json<{ key: string }>(['keys', 'create', 'away', '--worker', '--handlers', 'http']);
  const away = launchCarillon(
    [
      'worker',
      '--url',
      one.server.address,
      '--handlers',
      'http',
      '--slots',
      '3',
      '--name',
      'away',
      '--label',
      'gpu=a100',
      '--http-egress',
      'internet',
      '--http-allow',
      new URL(url).host,
    ],
    { cwd: one.folder, env: { CARILLON_KEY: keyed.key } },
  );
  try {
    // Then every run goes to the other one.
    await ok(['workers', 'drain', inServer!.worker_id]);
    const id = await eventually(async () => {
      const workers = await json<(Worker & { name: string | null; alive: boolean })[]>(['workers']);
      const found = workers.find(({ name, alive }) => name === 'away' && alive);
      expect(found, away.said.stderr).toMatchObject({ remote: true, slots: 3, labels: { gpu: 'a100' } });
      return found!.worker_id;
    }, SOON);
    for (const act of ['drain', 'undrain'])
      for (const given of [id, 'away']) expect(await ok(['workers', act, given])).toContain(id);
    const connected = `connected to ${one.server.address} as worker ${id}`;
    await eventually(() => expect(away.said.stderr).toContain(connected), SOON);
    const inward = await createJob('inward', '--http', `${one.server.address}/metrics`);
    await eventually(
      async () =>
        expect(await json(['runs', 'list', inward])).toMatchObject([
          { worker_id: id, status: 'FAILED', error_message: expect.stringContaining('of Carillon itself') },
        ]),
      SOON,
    );
    const inside = await createJob('inside', '--http', 'http://127.0.0.1:9/');
    await eventually(
      async () =>
        expect(await json(['runs', 'list', inside])).toMatchObject([
          {
            worker_id: id,
            status: 'FAILED',
            error_message: expect.stringContaining('http.egress is "internet"'),
          },
        ]),
      SOON,
    );
    const jobId = await createJob('far', '--http', url);
    await eventually(() => expect(asked).toHaveLength(1), SOON);
    expect(await json<Worker[]>(['workers'])).toContainEqual(
      expect.objectContaining({ worker_id: id, running: 1, language: 'typescript' }),
    );

    away.signal('SIGTERM');
    asked[0]!.end('done');
    expect(await away.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('Drained.') });
    expect(await json(['jobs', 'show', jobId])).toMatchObject({ status: 'COMPLETED' });
    await eventually(async () => expect(await json<Worker[]>(['workers'])).toHaveLength(1), SOON);
  } finally {
    away.signal('SIGKILL');
    await ok(['workers', 'undrain', inServer!.worker_id]);
    for (const response of asked) response.destroy();
    receiver.close();
  }
}, 180_000);

test('labels of workers are shown and filtered by, in command, REST and RPC', async () => {
  const { key } = await json<{ key: string }>([
    'keys',
    'create',
    'labelled',
    '--worker',
    '--handlers',
    'http',
  ]);
  const labels = ['--label', 'gpu=h100', '--label', 'zone=eu:1'];
  const labelled = launchCarillon(
    ['worker', '--url', one.server.address, '--handlers', 'http', '--name', 'labelled', ...labels],
    { cwd: one.folder, env: { CARILLON_KEY: key } },
  );
  const expected = [expect.objectContaining({ name: 'labelled', labels: { gpu: 'h100', zone: 'eu:1' } })];
  try {
    await eventually(
      async () => expect(await json(['workers', 'list', '--label', 'gpu=h100'])).toEqual(expected),
      SOON,
    );
    expect(await json(['workers', 'list', ...labels])).toEqual(expected);
    expect(await run(['workers', 'list', '--label', 'gpu=h100', '--label', 'zone=us'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No worker matches the filters.'),
    });
    expect(await ok(['workers', '-o', 'wide', '--label', 'zone=eu:1'])).toContain('gpu=h100 zone=eu:1');

    const headers = {
      authorization: `Bearer ${await one.server.adminKey()}`,
      'content-type': 'application/json',
    };
    const rest = await fetch(`${one.server.address}/api/workers?label=gpu:h100&label=zone:eu:1`, { headers });
    expect(await rest.json()).toEqual(expected);
    const wrong = await fetch(`${one.server.address}/api/workers?label=gpu`, { headers });
    expect(await wrong.json()).toMatchObject({ code: 'field_invalid', field: 'label' });
    const call = `${one.server.address}/carillon.v1.JobService/ListWorkers`;
    const rpc = async (wanted: object) =>
      (await fetch(call, { method: 'POST', headers, body: JSON.stringify({ labels: wanted }) })).json();
    expect(await rpc({ gpu: 'h100', zone: 'eu:1' })).toMatchObject({ workers: [{ name: 'labelled' }] });
    expect(await rpc({ gpu: 'h100', zone: 'us' })).not.toHaveProperty('workers');
  } finally {
    labelled.signal('SIGTERM');
    await labelled.ended;
  }
}, 180_000);

test('a script job that no worker could run is refused when it is made, with what there is', async () => {
  const make = (payload: object) =>
    run(['jobs', 'create', 'script', '--handler', 'script', '--payload', JSON.stringify(payload)]);
  expect(await make({ script: 'true', interpreter: 'fish' })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /nobody who runs scripts here has "fish"\. There is .*\bsh\b.*script\.interpreters/s,
    ),
  });
  expect(await make({ code_location: '/etc/hostname' })).toMatchObject({
    stderr: expect.stringMatching(
      /nobody who runs scripts here runs them from there\. There is none\..*script\.roots/s,
    ),
  });
  expect(await make({ script: 'true', interpreter: 'sh' })).toMatchObject({ code: 0 });
}, 180_000);

test('carillon worker with a key that may not offer its handler ends with a sentence', async () => {
  const keyed = await json<{ key: string }>(['keys', 'create', 'other', '--worker', '--handlers', 'script']);
  const ended = await run(['worker', '--url', one.server.address, '--handlers', 'http'], {
    env: { CARILLON_KEY: keyed.key },
  });
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('may not offer the handler http') });
}, 180_000);

test('carillon worker with egress settings that mean nothing ends with a sentence', async () => {
  const flags = ['worker', '--url', one.server.address, '--key', 'ck2_any', '--handlers', 'http'];
  for (const [given, said] of [
    [['--http-egress', 'all'], '--http-egress'],
    [
      ['--http-allow', 'api.example.com,http://x'],
      '--http-allow must be hosts, addresses or networks, and has "http://x"',
    ],
    [['--http-deny-networks', 'ten'], '--http-deny-networks must be networks, and has "ten"'],
  ] as const)
    expect(await run([...flags, ...given])).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
}, 180_000);

test('carillon worker with a name that cannot be shown ends with a sentence', async () => {
  const keyed = await json<{ key: string }>(['keys', 'create', 'named', '--worker', '--handlers', 'http']);
  const flags = ['worker', '--url', one.server.address, '--handlers', 'http', '--name', 'x'.repeat(500)];
  const { code, stderr } = await run(flags, { env: { CARILLON_KEY: keyed.key } });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the name of a worker must have at most 200 characters'),
  });
}, 180_000);

test('carillon worker with a key that the server does not know ends with a sentence', async () => {
  const flags = ['worker', '--url', one.server.address, '--handlers', 'http'];
  const { code, stderr } = await run(flags, { env: { CARILLON_KEY: `ck2_${'x'.repeat(40)}` } });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${one.server.address} refuses this worker`),
  });
  expect(stderr.match(/refuses|unauthenticated/g)).toHaveLength(2);
  expect(stderr).not.toMatch(/^\s+at /m);
}, 180_000);

test('carillon worker says once that no server answers, however often it dials', async () => {
  let dialled = 0;
  const broken = createNetServer((socket) => {
    dialled += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  const port = await eventually(() => (broken.address() as AddressInfo).port, SOON);
  const flags = ['worker', '--url', `http://127.0.0.1:${port}`, '--handlers', 'http'];
  const away = launchCarillon(flags, { cwd: one.folder, env: { CARILLON_KEY: 'ck2_any' } });
  try {
    await eventually(() => expect(dialled, away.said.stderr).toBeGreaterThanOrEqual(4), SOON);
    away.signal('SIGTERM');
    const { code, stderr } = await away.ended;
    expect(code, stderr).toBe(0);
    expect(stderr.match(/no server is connected|the stream to/g), stderr).toHaveLength(2);
    expect(stderr.match(/^note:/gm), stderr).toHaveLength(1);
    expect(stderr).not.toMatch(/^\s+at |"err"/m);
  } finally {
    away.signal('SIGKILL');
    broken.close();
  }
}, 180_000);
