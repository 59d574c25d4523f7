/**
 * The RPC interface as users of other languages meet it: a server as people start it, and the stock gRPC client of Python
 * with stubs from the published proto files, in clear and under TLS.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeCertificate } from '../../packages/server/src/gateway/listener/test-certificate.fixture.ts';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { endServers, launchServer } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { findPython, makeStubs, programOf } from './python-environment.ts';

const run = promisify(execFile);
const CLIENT = join(import.meta.dirname, 'python/client.py');
const python = await findPython();
const isLeftOut = python.kind === 'missing' && process.env.CI !== 'true';
const name = isLeftOut
  ? `a stock client in Python (${(python as { why: string }).why})`
  : 'a stock client in Python';

const receiver = new Receiver();
beforeAll(async () => {
  await receiver.start();
});
afterEach(endServers);
afterAll(() => receiver.stop());

/** What the client saw, by what it was looking at; of what came more than once, the last. */
async function seenByPython(folder: string, args: readonly string[]) {
  const program = programOf(python);
  const stubs = join(folder, 'stubs');
  mkdirSync(stubs, { recursive: true });
  const env = { ...process.env, PYTHONPATH: await makeStubs(program, stubs) };
  const { stdout } = await run(program, [CLIENT, ...args], { env, timeout: 300_000 });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { what: string; value: unknown });
  return Object.fromEntries(lines.map(({ what, value }) => [what, value]));
}

const EXPECTED = {
  health: 'SERVING',
  stranger: expect.objectContaining({ status: 'UNAUTHENTICATED', code: 'unauthorized' }),
  services: [
    'carillon.v1.AccountService',
    'carillon.v1.AuditService',
    'carillon.v1.JobService',
    'carillon.worker.v1.WorkerService',
    'grpc.health.v1.Health',
    'grpc.reflection.v1.ServerReflection',
    'grpc.reflection.v1alpha.ServerReflection',
  ],
  watching: true,
  statuses: expect.arrayContaining(['completed']),
  event: ['io.carillon.run.succeeded', 'http'],
  history: [['SUCCESS', 1, true]],
  listed: [[true, '*/2 * * * *', true]],
  retrieved: true,
  upcoming: true,
  preview: [3, 'Europe/Paris', true],
  cancelled: expect.arrayContaining(['cancelled']),
  'not theirs': expect.objectContaining({ status: 'NOT_FOUND', code: 'job_not_found' }),
  removed: expect.objectContaining({ status: 'NOT_FOUND', code: 'job_not_found' }),
  'bad schedule': {
    status: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/\.$/),
    code: 'cron_invalid',
    field: 'schedule.cron_expression',
    fix: expect.stringMatching(/\.$/),
  },
  bulk: [0, 0],
  log: true,
  caller: ['key', 'from python', [['default', 'viewer']]],
  audit: [['keys.create', 'from python']],
  revoked: expect.objectContaining({ status: 'UNAUTHENTICATED', code: 'unauthorized' }),
  'too late': expect.objectContaining({ status: 'DEADLINE_EXCEEDED' }),
};

describe.skipIf(isLeftOut)(name, () => {
  // Where nothing may be left out, the reason is told before a server is started for nothing.
  beforeAll(() => void programOf(python));

  test('submits, lists, watches, cancels, reads history, manages keys and gets clear errors', async () => {
    const folder = makeTestFolder();
    const server = await launchServer({ name: 'server', folder, port: await fixedPort() }).ready();
    const { host } = new URL(server.address);
    const args = [host, await server.adminKey(), receiver.url(50)];
    expect(await seenByPython(folder, args)).toEqual(EXPECTED);
    expect((await server.stop(60_000)).code).toBe(0);
  });

  test('does the same under TLS', async () => {
    const folder = makeTestFolder();
    const files = makeCertificate();
    const port = await fixedPort();
    const redirectPort = await fixedPort();
    const flags = ['--tls-cert-file', files.certFile, '--tls-key-file', files.keyFile];
    flags.push('--tls-redirect-port', String(redirectPort), '--host', '127.0.0.1');
    const server = launchServer({ name: 'server', folder, port, flags });
    const ca = readFileSync(files.certFile, 'utf8');
    await eventually(() => isReady(`https://localhost:${port}/health/ready`, ca), { withinMs: 60_000 });
    const redirected = `http://127.0.0.1:${redirectPort}/health/live`;
    const args = [`localhost:${port}`, await server.adminKey(), receiver.url(50), files.certFile];
    const sent = await fetch(redirected, { redirect: 'manual' });
    expect([sent.status, sent.headers.get('location')]).toEqual([
      308,
      `https://127.0.0.1:${port}/health/live`,
    ]);
    expect(await seenByPython(folder, args)).toEqual(EXPECTED);
    expect((await server.stop(60_000)).code).toBe(0);
    files.remove();
  });
});

async function isReady(url: string, ca: string): Promise<void> {
  const status = await new Promise((resolve, reject) => {
    get(url, { ca, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).once('error', reject);
  });
  if (status !== 200) throw new Error(`answered ${status}`);
}
