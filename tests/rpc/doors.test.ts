/**
 * One server as people start it, through all its doors: what goes in by REST comes out by RPC, with the same keys and the
 * same refusals; and the examples of docs/rpc.md do what the page says.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, Code, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { rpc } from '../../packages/contract/src/index.ts';
import { callApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { findPython, makeStubs, programOf } from './python-environment.ts';

const run = promisify(execFile);
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/rpc.md'), 'utf8');
const DAILY = { codeLocation: 'https://example.org/report', schedule: { frequency: 'daily' } };
const python = await findPython();

const folder = mkdtempSync(join(tmpdir(), 'carillon-doors-'));
let server: ServerProcess;
let key: string;
beforeAll(async () => {
  server = await launchServer({ name: 'server', folder, port: await fixedPort() }).ready();
  key = await server.adminKey();
});
afterAll(async () => {
  await endServers();
  rmSync(folder, { recursive: true, force: true });
});

type MakeTransport = (options: { baseUrl: string; interceptors: Interceptor[] }) => Transport;

function clientWith(bearer: string, makeTransport: MakeTransport = createGrpcTransport) {
  return clientOf(rpc.JobService, bearer, makeTransport);
}

function clientOf<Service extends DescService>(
  service: Service,
  bearer: string,
  makeTransport: MakeTransport = createGrpcTransport,
): Client<Service> {
  const withKey: Interceptor = (next) => (request) => {
    request.header.set('authorization', `Bearer ${bearer}`);
    return next(request);
  };
  return createClient(service, makeTransport({ baseUrl: server.address, interceptors: [withKey] }));
}

test('a job made over RPC is seen over REST, and the other way round', async () => {
  const { jobId } = await clientWith(key).submitJob({ ...DAILY, userId: 'ada' });
  const seen = await callApi<{ name: string; user_id: string }>(server, `/api/jobs/${jobId}`);
  expect(seen.body).toMatchObject({ name: DAILY.codeLocation, user_id: 'ada', handler: 'http' });
  const body = { name: 'from REST', frequency: 'weekly', payload: { url: 'https://example.org/' } };
  const made = await callApi<{ job_id: string }>(server, '/api/jobs', { method: 'POST', body });
  const { job } = await clientWith(key).getJob({ jobId: made.body.job_id });
  expect(job).toMatchObject({ name: 'from REST', schedule: { frequency: 'weekly' } });
});

test('plain fetch and gRPC-Web reach the same calls', async () => {
  const answer = await fetch(`${server.address}/carillon.v1.JobService/SubmitJob`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-request-id': 'mine-1' },
    body: JSON.stringify({ code_location: 'report', schedule: { cron_expression: 'nonsense' } }),
  });
  expect(answer.status).toBe(400);
  expect(answer.headers.get('x-request-id')).toBe('mine-1');
  expect(await answer.json()).toMatchObject({
    code: 'invalid_argument',
    details: [
      {
        type: 'carillon.v1.ErrorDetail',
        debug: { code: 'cron_invalid', field: 'schedule.cron_expression', requestId: 'mine-1' },
      },
    ],
  });
  const web = clientWith(key, (options) => createGrpcWebTransport({ ...options, httpVersion: '1.1' }));
  expect((await web.submitJob(DAILY)).created).toBe(true);
});

test('a key may over RPC exactly what it may over REST, and nothing once it is revoked', async () => {
  const body = { name: 'reader', namespace: 'default', role: 'viewer' };
  const made = await callApi<{ key: string; key_id: string }>(server, '/api/keys', { method: 'POST', body });
  const reader = clientWith(made.body.key);
  expect((await reader.listJobs({})).jobs.length).toBeGreaterThan(0);
  await expect(reader.submitJob(DAILY)).rejects.toMatchObject({ code: Code.PermissionDenied });
  const revoked = await fetch(`${server.address}/api/keys/${made.body.key_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  });
  expect(revoked.ok).toBe(true);
  await expect(reader.listJobs({})).rejects.toMatchObject({ code: Code.Unauthenticated });
});

test('a key made over RPC works at once over every door, and its making is in the audit log', async () => {
  const accounts = clientOf(rpc.AccountService, key);
  const { key: made, secret } = await accounts.createKey({
    name: 'ci',
    namespace: 'default',
    role: 'viewer',
  });
  const { caller } = await clientOf(rpc.AccountService, secret).getCaller({});
  expect(caller).toMatchObject({ kind: 'key', id: made!.keyId, name: 'ci' });
  const overRest = await fetch(`${server.address}/api/keys/${made!.keyId}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(await overRest.json()).toMatchObject({ name: 'ci', role: 'viewer' });
  const { entries } = await clientOf(rpc.AuditService, key).listAuditEntries({ subjectId: made!.keyId });
  expect(entries).toMatchObject([{ action: 'keys.create', actor: { name: 'admin key' } }]);
  await expect(clientOf(rpc.AuditService, secret).listAuditEntries({})).rejects.toMatchObject({
    code: Code.PermissionDenied,
  });
});

test('a certificate that cannot be used stops the start with a sentence', async () => {
  const flags = ['--tls-cert-file', '/nowhere/cert.pem', '--tls-key-file', '/nowhere/key.pem'];
  const refused = launchServer({ name: 'refused', folder, port: await fixedPort(), flags });
  expect((await refused.exitWithin(60_000)).code).toBe(1);
  expect(await refused.output()).toBe(
    'carillon: tls.cert_file (/nowhere/cert.pem) cannot be read (ENOENT)\n',
  );
});

test('the commands for a shell do what the page says', async () => {
  const [commands = ''] = blocks('sh').filter((block) => block.includes('curl $CARILLON'));
  const env = { ...process.env, CARILLON: server.address, KEY: key };
  const { stdout } = await run('sh', ['-ec', commands.replaceAll('curl ', 'curl -sf ')], { env });
  expect(stdout).toMatch(/"jobId":"[0-9a-f-]{36}".*"jobs":\[.*"cronExpression":"0 9 \* \* 1-5"/s);
});

test.skipIf(python.kind === 'missing' && process.env.CI !== 'true')(
  `the example in Python does what the page says${python.kind === 'missing' ? ` (${python.why})` : ''}`,
  async () => {
    const [program, ...script] = await pythonExample(0);
    const { stdout } = await run(program, script, { env: await pythonEnvironment() });
    expect(stdout).toMatch(/^submitted [0-9a-f-]{36}$/m);
    expect(stdout).toMatch(/^https:\/\/example.org\/report \d{4}-/m);
    expect(stdout).toMatch(/^INVALID_ARGUMENT .*\.$/m);
  },
);

test.skipIf(python.kind === 'missing' && process.env.CI !== 'true')(
  'the example in Python that watches tells of a run as it happens',
  async () => {
    const [program, ...script] = await pythonExample(1);
    const watching = spawn(program, script, { env: await pythonEnvironment() });
    onTestFinished(() => void watching.kill());
    let told = '';
    watching.stdout.on('data', (chunk) => {
      told += String(chunk);
    });
    watching.stderr.on('data', (chunk) => {
      told += String(chunk);
    });
    const payload = { url: `${server.address}/health/live` };
    await eventually(
      async () => {
        await callApi(server, '/api/jobs', { method: 'POST', body: { name: 'watched', payload } });
        expect(told).toMatch(/^\d{4}-\S+ io\.carillon\.run\.succeeded watched$/m);
      },
      { withinMs: 60_000 },
    );
  },
);

async function pythonExample(index: number): Promise<[program: string, ...args: string[]]> {
  const script = join(folder, `example-${index}.py`);
  writeFileSync(script, blocks('python')[index] ?? '');
  return [programOf(python), script];
}

async function pythonEnvironment(): Promise<NodeJS.ProcessEnv> {
  const stubs = join(folder, 'stubs');
  mkdirSync(stubs, { recursive: true });
  const { host: CARILLON_TARGET } = new URL(server.address);
  return {
    ...process.env,
    ...{ CARILLON_TARGET, KEY: key, PYTHONPATH: await makeStubs(programOf(python), stubs) },
  };
}

test.each([rpc.JobService, rpc.AccountService, rpc.AuditService])(
  'every call of $name is on the page, and no other',
  ({ name, methods }) => {
    const [, table = ''] = PAGE.split(`\nOf \`${name}\`:\n`);
    const named = [...table.split(/^(?:Of|##) /m)[0]!.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) =>
      cell.split(', ').map((call) => call.replaceAll('`', '')),
    );
    expect(named.sort()).toEqual(methods.map((method) => method.name).sort());
  },
);

test('a server that stops ends streams, and is not held up by those that keep theirs open', async () => {
  const stream = clientWith(key).watchEvents({})[Symbol.asyncIterator]();
  await stream.next();
  // Events of the tests before may still come.
  const toTheEnd = async () => {
    while ((await stream.next()).done !== true);
  };
  const ended = expect(toTheEnd()).rejects.toMatchObject({ code: Code.Unavailable });
  const { code } = await server.stop(60_000);
  await ended;
  expect(code).toBe(0);
});

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text = '']) => text,
  );
}
