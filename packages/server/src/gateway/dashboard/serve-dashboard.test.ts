import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DashboardFiles, readDashboard } from './dashboard-files.ts';
import { serveDashboard } from './serve-dashboard.ts';

const DOCUMENT = '<html><head><!--head--></head><body></body></html>';
const SCRIPT = 'export const x = 1;'.repeat(100);

let folder: string;
let dashboard: DashboardFiles;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-page-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), DOCUMENT);
  await writeFile(join(folder, 'assets/main-abc.js'), SCRIPT);
  await writeFile(join(folder, 'assets/main-abc.js.gz'), gzipSync(SCRIPT));
  await writeFile(join(folder, 'favicon.svg'), '<svg/>');
  dashboard = await readDashboard(folder);
});
afterAll(() => rm(folder, { recursive: true }));

function served(address = '') {
  const app = fastify();
  const orPage = serveDashboard(app, { dashboard, address });
  app.setNotFoundHandler(orPage((_request, reply) => void reply.code(404).send({ code: 'route_not_found' })));
  return app;
}

describe('the page', () => {
  test('is its document for every address of it, with a policy that lets in nothing else', async () => {
    for (const url of ['/', '/jobs', '/runs/1?tab=log']) {
      const { statusCode, body, headers } = await served().inject({
        url,
        headers: { accept: 'text/html,*/*' },
      });
      const nonce = /name="style-nonce" content="([\w-]{22})"/.exec(body)?.[1];
      expect([statusCode, headers['cache-control']]).toEqual([200, 'no-store']);
      expect(body).toContain('<base href="/">');
      expect(headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonce}'`);
      expect(headers['content-security-policy']).not.toContain('unsafe');
    }
  });

  test('knows the path that a proxy serves it at', async () => {
    const { body } = await served('https://tools.example/carillon').inject({ url: '/' });
    expect(body).toContain('<base href="/carillon/">');
  });

  test('marks the styles of every answer anew', async () => {
    const app = served();
    const [first, second] = [await app.inject({ url: '/' }), await app.inject({ url: '/' })];
    expect(first.body).not.toBe(second.body);
  });

  test('is not shown to programs, and to nobody who changes something', async () => {
    for (const [method, accept] of [
      ['GET', 'application/json'],
      ['POST', 'text/html'],
    ] as const)
      expect((await served().inject({ method, url: '/jobs', headers: { accept } })).statusCode).toBe(404);
  });
});

describe('a file of the page', () => {
  test('is kept for ever where its name comes from its content', async () => {
    const app = served();
    const script = await app.inject({ url: '/assets/main-abc.js' });
    expect(script.body).toBe(SCRIPT);
    expect(script.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      // A worker made of it may ask the server, and nobody else.
      'content-security-policy':
        "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'",
    });
    expect((await app.inject({ url: '/favicon.svg' })).headers['cache-control']).toBe('no-cache');
  });

  test('is sent compressed to who takes it', async () => {
    const answer = await served().inject({
      url: '/assets/main-abc.js',
      headers: { 'accept-encoding': 'gzip, br' },
    });
    expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual(['gzip', 'accept-encoding']);
    expect(answer.rawPayload).toEqual(gzipSync(SCRIPT));
  });

  test('is found by its exact name alone', async () => {
    const app = served();
    for (const url of [
      '/assets/other.js',
      '/assets/../../package.json',
      '/assets/%2e%2e/index.html',
      '/built-from.txt',
    ])
      expect((await app.inject({ url, headers: { accept: '*/*' } })).statusCode).toBe(404);
  });
});
