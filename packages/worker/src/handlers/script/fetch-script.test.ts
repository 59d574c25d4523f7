import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runScript } from './script.fixture.ts';
import { SCRIPT_DEFAULTS, type ScriptHandlerOptions } from './script-handler.ts';

const SOURCE = '#!/bin/bash\necho fetched "$1"\n';
const DIGEST = createHash('sha256').update(SOURCE).digest('hex');

let folder: string;
let server: Server;
let base: string;
let asked: string[] = [];
let options: Partial<ScriptHandlerOptions>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-fetch-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...[
        '-keyout',
        key,
        '-out',
        cert,
        '-days',
        '2',
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=DNS:localhost',
      ],
    ],
    { stdio: 'ignore' },
  );
  server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/script.sh') return response.end(SOURCE);
    if (request.url === '/moved') return response.writeHead(302, { location: '/script.sh' }).end();
    if (request.url === '/broken') return response.writeHead(503).end();
    if (request.url === '/large') {
      response.on('error', () => undefined);
      return response.end(Buffer.alloc(17 * 1024 * 1024));
    }
    return response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `https://localhost:${(server.address() as AddressInfo).port}`;
  options = { ca: readFileSync(cert, 'utf8') };
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked = [];
});

const fetched = (path: string, more: { sha256?: string; options?: Partial<ScriptHandlerOptions> } = {}) =>
  runScript({
    payload: { code_location: `${base}${path}`, sha256: more.sha256 ?? DIGEST, args: ['x'] },
    options: { ...options, ...more.options },
  });

describe('a script from an https address', () => {
  test('runs, and is fetched once for all runs', async () => {
    const cacheFolder = join(folder, 'cache');
    for (let i = 0; i < 2; i += 1)
      expect((await fetched('/script.sh', { options: { cacheFolder } })).channel.text()).toBe('fetched x\n');
    expect(asked).toEqual(['/script.sh']);
    rmSync(join(cacheFolder, DIGEST));
    expect((await fetched('/script.sh', { options: { cacheFolder } })).channel.text()).toBe('fetched x\n');
    expect(asked).toEqual(['/script.sh', '/script.sh']);
  });

  test('runs also where it cannot be kept', async () => {
    const cacheFolder = join(folder, 'no-folder');
    writeFileSync(cacheFolder, '');
    expect((await fetched('/script.sh', { options: { cacheFolder } })).channel.text()).toBe('fetched x\n');
  });

  test.each([
    ['/moved', 'the server answered 302, a redirect, which is not followed', false],
    ['/none', 'the server answered 404', false],
    ['/broken', 'the server answered 503', true],
    ['/large', 'it is larger than 16777216 bytes', false],
  ])('%s: %s', async (path, error, retryable) => {
    const { outcome } = await fetched(path);
    expect(outcome).toMatchObject({ kind: 'FAILED', retryable, error: expect.stringContaining(error) });
  });

  test('with another digest is not run', async () => {
    const { outcome, channel } = await fetched('/script.sh', { sha256: 'b'.repeat(64) });
    expect(outcome).toMatchObject({
      kind: 'FAILED',
      retryable: false,
      error: expect.stringContaining(`is ${DIGEST}`),
    });
    expect(channel.text()).toBe('');
  });

  test('is not fetched from where http jobs may not call, nor from a server that cannot be trusted', async () => {
    const egress = { ...SCRIPT_DEFAULTS.egress, profile: 'internet' } as const;
    const refused = await fetched('/script.sh', { options: { egress } });
    expect(refused.outcome).toMatchObject({
      retryable: false,
      error: expect.stringContaining('not allowed here'),
    });
    const { outcome } = await runScript({ payload: { code_location: `${base}/script.sh`, sha256: DIGEST } });
    expect(outcome).toMatchObject({ kind: 'FAILED', error: expect.stringContaining('was not fetched') });
    expect(asked).toEqual([]);
    const away = { code_location: 'https://127.0.0.1:1/script.sh', sha256: DIGEST };
    expect((await runScript({ payload: away })).outcome).toMatchObject({
      kind: 'FAILED',
      retryable: true,
      error: expect.stringMatching(/was not fetched: nothing listens at that address .*\(ECONNREFUSED\)$/),
    });
  });
});
