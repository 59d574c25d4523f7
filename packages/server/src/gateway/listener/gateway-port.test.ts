import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, expect, test } from 'vitest';
import { addressOf, GatewayPort, hostOf, isLoopback } from './gateway-port.ts';
import { makeCertificate } from './test-certificate.fixture.ts';

const files = makeCertificate();
const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});
afterAll(() => files.remove());

async function prepare(fields: { host?: string; tls?: typeof files; nowMs?: number }) {
  const warnings: string[] = [];
  const port = await GatewayPort.prepare({
    port: 0,
    host: fields.host,
    tls: fields.tls,
    publicUrl: undefined,
    clock: new ManualClock(fields.nowMs ?? Date.now()),
    random: new SeededRandom(1),
    log: { ...silentLog, warn: (_facts, message) => void warnings.push(message) },
  });
  return { port, warnings };
}

async function open(port: GatewayPort): Promise<string> {
  const app = fastify({ serverFactory: port.listener.serverFactory });
  apps.push(app);
  const address = await port.open(app);
  await port.close();
  return address;
}

test('without TLS it listens on this machine only, and says nothing', async () => {
  const { port, warnings } = await prepare({});
  expect(port.host).toBe('127.0.0.1');
  expect(await open(port)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(warnings).toEqual([]);
});

test('without TLS it warns when it is told to listen beyond this machine', async () => {
  expect((await prepare({ host: '0.0.0.0' })).warnings).toEqual([
    expect.stringMatching(/^listening beyond this machine without TLS: .*tls\.cert_file/),
  ]);
});

test('with TLS it listens everywhere, unless told otherwise, and warns of nothing but age', async () => {
  const { port, warnings } = await prepare({ tls: files });
  expect([port.host, port.scheme, warnings]).toEqual(['0.0.0.0', 'https', []]);
  expect((await prepare({ tls: files, host: '::1' })).port.host).toBe('::1');
  const old = await prepare({ tls: files, nowMs: Date.now() + 10 * 24 * 3_600_000 });
  expect(old.warnings).toEqual(['the certificate has expired: clients will refuse it']);
  expect(await open((await prepare({ tls: files, host: '127.0.0.1' })).port)).toMatch(
    /^https:\/\/127\.0\.0\.1:/,
  );
});

test.each([
  ['127.0.0.1', true],
  ['127.8.0.1', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.168.1.5', false],
  ['localhost.example.com', false],
])('%s is this machine only: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test('addresses are shown as a client on this machine reaches them', () => {
  const at = (address: string, family: string) => addressOf({ address, family, port: 1 }, { tls: false });
  expect(at('0.0.0.0', 'IPv4')).toBe('http://127.0.0.1:1');
  expect(at('::', 'IPv6')).toBe('http://127.0.0.1:1');
  expect(at('::1', 'IPv6')).toBe('http://[::1]:1');
  expect(hostOf('10.0.0.1', { tls: true })).toBe('10.0.0.1');
});
