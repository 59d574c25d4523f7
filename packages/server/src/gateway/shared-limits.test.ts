/** What all callers share, asked for by an administrator of one namespace who makes one key after the other: others still find room. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { RunId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const SOON = { withinMs: 60_000 };
const HELD_MAX = 1_100;
let gateway: GatewayFixture;
let port: number;
let closings: (() => void)[];

beforeEach(async () => {
  gateway = new GatewayFixture();
  closings = [];
  const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  port = Number(new URL(address).port);
});

afterEach(async () => {
  for (const close of closings) close();
  await gateway.app.close();
});

/** The status of an answer, whose end nobody waits for. */
async function ask(key: string, path: string, accept: string): Promise<number> {
  const asked = get({ host: '127.0.0.1', port, path, headers: { accept, authorization: `Bearer ${key}` } });
  asked.on('error', () => undefined);
  closings.push(() => asked.destroy());
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined).resume();
  return answer.statusCode!;
}

/** A run of the namespace that has written something. */
async function runIn(namespace: string): Promise<RunId> {
  await gateway.namespace(namespace);
  const runId = (await gateway.createdId({ name: namespace, namespace })) as unknown as RunId;
  await gateway.claimDue();
  const key = { day: '2030-01-01', runId, epoch: 1 };
  const text = Buffer.from('1 o hello\n');
  await gateway.logStore.write(key, { segment: 0, offset: 0 }, text);
  const sizes = { bytes: text.length, lines: 1, firstAtMs: 1, lastAtMs: 1 };
  await gateway.storage.runLogs.recordLogs([
    { ...key, ...sizes, writer: undefined, nodeId: undefined, ended: true, incomplete: false },
  ]);
  return runId;
}

const stream = 'text/event-stream';

describe('keys of one namespace together leave room for another one, and for the admin key', () => {
  test.each([
    ['streams of events', '/api/events', 50],
    ['live updates', '/api/live', 50],
    ['followed logs', '/api/runs/RUN/logs', 50],
  ])(
    '%s',
    async (_, path, each) => {
      const [own, others] = [await runIn('alpha'), await runIn('beta')];
      let held = 0;
      let isRefused = false;
      while (!isRefused && held < HELD_MAX) {
        const key = await gateway.keyWith({ namespace: 'alpha', role: 'operator' });
        let taken = 0;
        while (taken < each && (await ask(key, path.replace('RUN', own), stream)) === 200) taken += 1;
        held += taken;
        isRefused = taken < each;
      }
      expect(isRefused).toBe(true);
      const beta = await gateway.keyWith({ namespace: 'beta', role: 'operator' });
      expect(await ask(beta, path.replace('RUN', others), stream)).toBe(200);
      expect(await ask(KEY, path.replace('RUN', others), stream)).toBe(200);
    },
    120_000,
  );

  test('searches of logs', async () => {
    const [own, others] = [await runIn('alpha'), await runIn('beta')];
    const held = Promise.withResolvers<void>();
    closings.push(held.resolve);
    let reads = 0;
    const { logStore } = gateway;
    const read = logStore.read.bind(logStore);
    logStore.read = async (key, ...asked) => {
      if (key.runId !== own) return read(key, ...asked);
      reads += 1;
      await held.promise;
      return read(key, ...asked);
    };
    const answered: Promise<number>[] = [];
    for (let keys = 0; keys < 5; keys += 1) {
      const key = await gateway.keyWith({ namespace: 'alpha', role: 'operator' });
      const path = `/api/runs/${own}/logs?search=hello`;
      for (let i = 0; i < 4; i += 1) answered.push(ask(key, path, 'text/plain'));
    }
    for (const answer of answered) answer.catch(() => undefined);
    const refused = Promise.any(answered.map(async (answer) => expect(await answer).toBe(429)));
    let isRefused = false;
    refused.then(
      () => {
        isRefused = true;
      },
      () => undefined,
    );
    await eventually(() => {
      gateway.clock.advance(500);
      expect(isRefused).toBe(true);
    }, SOON);
    expect(reads).toBeGreaterThan(0);
    const beta = await gateway.keyWith({ namespace: 'beta', role: 'operator' });
    for (const key of [beta, KEY]) {
      let status: number | undefined;
      void ask(key, `/api/runs/${others}/logs?tail=5`, 'text/plain').then((answer) => {
        status = answer;
      });
      await eventually(() => {
        gateway.clock.advance(500);
        expect(status).toBeDefined();
      }, SOON);
      expect(status).toBe(200);
    }
  });
});
