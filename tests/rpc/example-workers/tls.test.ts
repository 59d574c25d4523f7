/**
 * Workers in TypeScript, Python and Go against a server that demands certificates of them, made by the commands of docs/workers.md. What
 * is wrong with a certificate, or with an address, is said at the worker.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runCarillon } from '../../cli/run-carillon.ts';
import { callApi, submitJobs } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { fixedPort } from '../../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../../support/start-server-process.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { endWorkers, WorkerProcess } from './worker-process.ts';

const LIMIT = { withinMs: 180_000 };
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/workers.md'), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'carillon-mtls-'));
const file = (name: string) => join(folder, name);
let demanding: ServerProcess;
let lenient: ServerProcess;
let inClear: ServerProcess;
let key: string;

/** In a shell, as a reader of the page does. */
function makeAsDocumented(): void {
  const block = /```sh\n(# An authority[\s\S]*?)```/.exec(PAGE)?.[1];
  if (block === undefined) throw new Error('docs/workers.md has no commands for certificates');
  execFileSync('sh', ['-e', '-c', block], { cwd: folder, stdio: 'pipe' });
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

/** Of the same authority, for a day long ago. */
function makeExpired(): void {
  const policy = '[p]\ncommonName=supplied\n';
  writeFileSync(
    file('ca.cnf'),
    `[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n${policy}`,
  );
  writeFileSync(file('index.txt'), '');
  const days = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'];
  const signing = ['-cert', 'ca.pem', '-keyfile', 'ca-key.pem', '-in', 'worker.csr', '-out', 'expired.pem'];
  openssl('ca', '-batch', '-notext', '-config', 'ca.cnf', ...days, ...signing);
}

/** An authority that nobody knows, and a certificate of a worker by it. */
function makeOther(): void {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...curve, '-subj', '/CN=Other', '-keyout', 'other-key.pem', '-out', 'other.pem');
  const signing = ['-CA', 'other.pem', '-CAkey', 'other-key.pem', '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', 'worker.csr', ...signing, '-out', 'stranger.pem');
}

async function launchSecured(name: string, flags: readonly string[]): Promise<ServerProcess> {
  const own = ['--tls-cert-file', file('server.pem'), '--tls-key-file', file('server-key.pem')];
  const options = { name, folder, port: await fixedPort(), scheme: 'https' } as const;
  return launchServer({ ...options, flags: ['--host', '127.0.0.1', ...own, ...flags] }).ready();
}

beforeAll(async () => {
  makeAsDocumented();
  makeExpired();
  makeOther();
  copyFileSync(file('ca.pem'), file('client-ca.pem'));
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(file('ca.pem'), 'utf8')]);
  const port = await fixedPort();
  [demanding, lenient, inClear] = await Promise.all([
    launchSecured('demanding', ['--tls-client-ca-file', file('client-ca.pem')]),
    launchSecured('lenient', [
      '--tls-client-ca-file',
      file('ca.pem'),
      '--tls-client-certificate',
      'optional',
    ]),
    launchServer({ name: 'in-clear', folder, port }).ready(),
  ]);
  key = await demanding.adminKey();
});
afterEach(endWorkers);
afterAll(async () => {
  await endServers();
  rmSync(folder, { recursive: true, force: true });
});

const ca = () => ['--tls-ca', file('ca.pem')];
const certificate = (name: string, keyName = 'worker-key.pem') => [
  ...['--tls-cert', file(name)],
  ...['--tls-key', file(keyName)],
];

async function runsAJob(server: ServerProcess): Promise<void> {
  const job = { name: 'over TLS', handler: 'echo', payload: { text: 'hello' } };
  const [jobId] = await submitJobs(server, [job]);
  await eventually(async () => {
    const { body } = await callApi<{ status: string }>(server, `/api/jobs/${jobId}`);
    expect(body.status).toBe('COMPLETED');
  }, LIMIT);
}

describe.each(await findWorkers())('$language', (found) => {
  describe.skipIf(isLeftOut(found))(nameOf(found), () => {
    beforeAll(() => void programOf(found));

    const launch = async (
      server: ServerProcess,
      args: readonly string[],
      { url = server.address, name = 'worker' } = {},
    ) =>
      new WorkerProcess({
        ...{ program: programOf(found), folder: makeTestFolder(), servers: [url] },
        ...{ key: await server.adminKey(), args, name },
      });
    const says = async (worker: WorkerProcess, words: RegExp) =>
      eventually(async () => expect(await worker.output()).toMatch(words), LIMIT);

    test('runs jobs of a server that demands a certificate', async () => {
      await launch(demanding, [...ca(), ...certificate('worker.pem')]);
      await runsAJob(demanding);
    });

    test.each([
      ['without a certificate', () => [], /only with a certificate, and none was sent.*--tls-cert/],
      ['with an expired one', () => certificate('expired.pem'), /CN=thumbnails-1\) has expired/],
      [
        'with one of another authority',
        () => certificate('stranger.pem'),
        /authority that this server does not know/,
      ],
      [
        'with one signed by itself',
        () => certificate('other.pem', 'other-key.pem'),
        /CN=Other\) is signed by itself/,
      ],
    ])('is told why it gets no stream: %s', async (_, args, words) => {
      await says(await launch(demanding, [...ca(), ...args()], { name: 'refused' }), words);
      const { body } = await callApi<{ name: string }[]>(demanding, '/api/workers');
      expect(body.filter(({ name }) => name === 'refused')).toEqual([]);
    });

    test('is let in without a certificate where it is optional, and not with an invalid one', async () => {
      const stranger = await launch(lenient, [...ca(), ...certificate('stranger.pem')]);
      await says(stranger, /authority that this server does not know/);
      await launch(lenient, ca());
      await runsAJob(lenient);
    });

    test('says what to do when it does not know the authority of the server', async () => {
      await says(await launch(demanding, ['--tls-ca', file('other.pem')]), /--tls-ca/);
    });

    test('says what to do when it speaks TLS to a server in clear, and the other way round', async () => {
      const toClear = inClear.address.replace('http:', 'https:');
      await says(await launch(inClear, ca(), { url: toClear }), /does not speak TLS/);
      const toSecured = demanding.address.replace('https://', '');
      await says(await launch(demanding, [], { url: toSecured }), /begins with https|dialled by https/);
    });
  });
});

test('people need no certificate', async () => {
  expect(await callApi(demanding, '/api/jobs')).toMatchObject({ status: 200 });
});

describe('carillon worker', () => {
  const flags = () => ['worker', '--url', demanding.address, '--handlers', 'http'];

  test('takes its files from the environment, and ends with a sentence when its certificate is refused', async () => {
    const env = {
      CARILLON_KEY: key,
      CARILLON_TLS_CA: file('ca.pem'),
      CARILLON_TLS_CERT: file('expired.pem'),
      CARILLON_TLS_KEY: file('worker-key.pem'),
    };
    const { code, stderr } = await runCarillon(flags(), { cwd: folder, env });
    expect(stderr).toMatch(/the certificate in .*expired\.pem has expired/);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('refuses this worker'),
    });
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test.each([
    [['--tls-cert', 'worker.pem'], /certificate and its private key are given together/],
    [['--tls-ca', 'nowhere.pem'], /nowhere\.pem cannot be read \(ENOENT\)/],
    [['--tls-cert', 'worker.pem', '--tls-key', 'ca-key.pem'], /does not belong to the certificate/],
    [['--tls-ca', 'ca-key.pem'], /holds no PEM certificate/],
    [['--tls-ca', 'ca.pem', '--url', 'http://127.0.0.1:1'], /in clear: write it with https/],
  ])('says at once what is wrong with %j', async (args, words) => {
    const { code, stderr } = await runCarillon([...flags(), ...args], {
      cwd: folder,
      env: { CARILLON_KEY: key },
    });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(words) });
  });
});

test('a server takes up another authority for workers without a restart', async () => {
  const [typescript] = await findWorkers();
  const launch = (name: string, cert: string) =>
    new WorkerProcess({
      ...{ program: programOf(typescript!), folder: makeTestFolder(), servers: [demanding.address] },
      ...{ key, name, args: [...ca(), ...certificate(cert)] },
    });
  copyFileSync(file('other.pem'), file('client-ca.pem'));
  await eventually(
    async () => expect(await demanding.output()).toContain('took up a renewed certificate'),
    LIMIT,
  );
  const former = launch('former', 'worker.pem');
  await eventually(
    async () => expect(await former.output()).toMatch(/authority that this server does not know/),
    LIMIT,
  );
  launch('new', 'stranger.pem');
  await runsAJob(demanding);
});
