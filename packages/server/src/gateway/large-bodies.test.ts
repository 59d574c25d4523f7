import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:http2';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { claimantIn, INSTALLATION } from '../shared-limit/claimant.fixture.ts';
import type { Claimant } from '../shared-limit/shared-limit.ts';
import { GatewayFixture } from './gateway.fixture.ts';
import { LargeBodies } from './large-bodies.ts';

const MIB = 1024 * 1024;

let clock: ManualClock;
let bodies: LargeBodies;

beforeEach(() => {
  clock = new ManualClock();
  bodies = new LargeBodies({ clock, bodyBytesMax: MIB });
});

/** Lets what follows a turn happen, and the rest after it. */
async function pass(): Promise<void> {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  clock.advance(100);
  await Promise.resolve();
}

describe('turns', () => {
  let served: string[];

  beforeEach(() => {
    served = [];
  });

  function ask(group: string, caller: string, workMs = 10): void {
    void bodies.turn(claimantIn([group], caller)).then(
      () => {
        served.push(caller);
        clock.advance(workMs);
      },
      () => served.push(`${caller} refused`),
    );
  }

  test('are taken one at a time, the groups one after the other, and in a group the callers', async () => {
    for (let i = 0; i < 3; i += 1) ask('a', 'ann');
    ask('a', 'abe');
    ask('b', 'bob');
    await Promise.resolve();
    expect(served).toEqual(['ann']);
    for (let i = 0; i < 4; i += 1) await pass();
    expect(served).toEqual(['ann', 'bob', 'abe', 'ann', 'ann']);
  });

  test('are followed by a rest as long as the work', async () => {
    ask('a', 'ann', 40);
    ask('b', 'bob');
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    clock.advance(39);
    await Promise.resolve();
    expect(served).toEqual(['ann']);
    clock.advance(1);
    await Promise.resolve();
    expect(served).toEqual(['ann', 'bob']);
  });

  test('end with a refusal for who waits too long', async () => {
    ask('a', 'ann', 0);
    ask('a', 'abe');
    await Promise.resolve();
    clock.advance(5_000);
    await new Promise(setImmediate);
    expect(served).toEqual(['ann', 'abe refused']);
  });
});

describe('what arrives at the same time', () => {
  const send = (who: Claimant, mib: number) => {
    const held = bodies.hold(who);
    held.add(mib * MIB);
    return held;
  };

  test('of one namespace leaves memory to others, and what all send to the installation', () => {
    const held = Array.from({ length: 4 }, (_, i) => send(claimantIn(['a'], `ann ${i}`), 12.75));
    expect(() => send(claimantIn(['a'], 'abe'), 1)).toThrow(/^Too many large requests for the namespace a/);
    for (const name of ['b', 'c']) for (let i = 0; i < 4; i += 1) send(claimantIn([name], `${name} ${i}`), 8);
    expect(() => send(claimantIn(['d'], 'dan'), 1)).toThrow(/^Too many large requests are under way/);
    send(INSTALLATION, 12);
    for (const each of [...held, ...held]) each.release();
    for (let i = 0; i < 4; i += 1) send(claimantIn(['d'], `dan ${i}`), 9.75);
  });

  test('of one caller is a quarter of what its namespace may have, and a body of full length in any case', () => {
    send(claimantIn(['a'], 'ann'), 12);
    expect(() => send(claimantIn(['a'], 'ann'), 1)).toThrow(/^Too many large requests for you/);
    send(claimantIn(['a'], 'abe'), 12);
    send(INSTALLATION, 51);
    bodies = new LargeBodies({ clock, bodyBytesMax: 40 * MIB });
    send(claimantIn(['a'], 'ann'), 40);
  });

  test('counts for each namespace of a caller, and for who has made their keys', () => {
    for (let i = 0; i < 4; i += 1) send(claimantIn(['a', 'b'], `key ${i}`, 'eve'), 10);
    expect(() => send(claimantIn(['b'], 'key 2', 'bob'), 12)).toThrow('for the namespace b');
    for (let i = 5; i < 8; i += 1) send(claimantIn(['c'], `key ${i}`, 'eve'), 12);
    expect(() => send(claimantIn(['d'], 'key 8', 'eve'), 2)).toThrow('Too many');
    for (let i = 9; i < 12; i += 1) send(claimantIn(['d'], `key ${i}`, 'dan'), 10);
  });
});

test('who has keys for many sets of namespaces gets no more turns than who has one', async () => {
  const served: string[] = [];
  const ask = (who: Claimant) => void bodies.turn(who).then(() => served.push(who.of));
  const sets = [['a'], ['b'], ['a', 'b'], ['c'], ['a', 'c'], ['b', 'c']];
  for (const [i, set] of sets.entries()) ask(claimantIn(set, `eve ${i}`, 'eve'));
  ask(claimantIn(['d'], 'dan'));
  for (let i = 0; i < 3; i += 1) await pass();
  expect(served.slice(0, 2)).toEqual(['eve 0', 'dan']);
});

describe('a gateway', () => {
  let gateway: GatewayFixture;
  let port: number;

  beforeEach(async () => {
    gateway = new GatewayFixture();
    onTestFinished(() => gateway.app.close());
    port = Number(new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 })).port);
  });

  async function send(key: string, path: string, body?: string): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request({ port, path, method, agent: false, headers });
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode!;
  }

  const manyFields = JSON.stringify(
    Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`unknown_${i}`, 1])),
  );
  const badJobs = Array.from({ length: 1_000 }, () => ({ nam: 1 }));

  test.each([
    ['large bodies', '/api/schedules/preview', manyFields],
    ['batches', '/api/jobs/batch', JSON.stringify({ jobs: badJobs })],
    ['large calls', '/carillon.v1.JobService/SubmitJob', manyFields],
    [
      'calls with batches',
      '/carillon.v1.JobService/SubmitJobs',
      JSON.stringify({ jobs: badJobs.map(() => ({})) }),
    ],
  ])('answers others before most of the %s of one namespace (hazard 45)', async (_, path, body) => {
    const grant = { namespace: 'red', role: 'editor' } as const;
    await gateway.namespace('red');
    const red = await Promise.all(Array.from({ length: 5 }, () => gateway.keyWith(grant)));
    const blue = await gateway.keyWith({ namespace: 'blue', role: 'viewer' });
    const look = () => send(blue, '/api/jobs?limit=1');
    expect(await look()).toBe(200);
    let answered = 0;
    const asked = Array.from({ length: 40 }, async (_, i) => {
      await send(red[i % red.length]!, path, body);
      answered += 1;
    });
    expect(await look()).toBe(200);
    expect(answered).toBeLessThan(20);
    await Promise.all(asked);
  });

  test('reads no more of a stranger than signing in needs', async () => {
    const headers = { 'content-type': 'application/json' };
    const payload = JSON.stringify({ name: 'a'.repeat(9_000), password: 'b' });
    for (const url of ['/api/session', '/grpc.health.v1.Health/Check']) {
      const answer = await gateway.app.inject({ method: 'POST', url, headers, payload });
      expect(answer.body).toContain('larger than 8 KiB, which is what is read of a stranger');
    }
  });

  test.each(['/api/jobs', '/carillon.v1.JobService/SubmitJob', '/carillon.v1.JobService/SubmitJobs'])(
    'holds nothing of a body of %s that its sender may not send',
    async (path) => {
      const key = await gateway.keyWith({ namespace: 'red', role: 'viewer' });
      const session = connect(`http://127.0.0.1:${port}`);
      onTestFinished(() => session.destroy());
      const asked = session.request({
        ...{ ':method': 'POST', ':path': path, authorization: `Bearer ${key}` },
        'content-type': path.startsWith('/api') ? 'application/json' : 'application/grpc',
      });
      asked.on('error', () => undefined);
      // The head of a message that is longer than what comes.
      asked.write(Buffer.concat([Buffer.from([0, 0, 8, 0, 0]), Buffer.alloc(20_000, ' ')]));
      asked.resume();
      const isCall = !path.startsWith('/api');
      const [told] = (await once(asked, isCall ? 'trailers' : 'response')) as [Record<string, unknown>];
      expect(told).toMatchObject(isCall ? { 'grpc-status': '7' } : { ':status': 403 });
    },
  );

  test('counts what arrives without a word of its length, and refuses what is too much of one namespace', async () => {
    const key = await gateway.keyWith({ namespace: 'red', role: 'editor' });
    const session = connect(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    const headers = { ':method': 'POST', ':path': '/api/jobs', authorization: `Bearer ${key}` };
    const statuses: (number | undefined)[] = [];
    for (let i = 0; i < 60; i += 1) {
      const asked = session.request({ ...headers, 'content-type': 'application/json' });
      asked.on('error', () => undefined);
      asked.on('response', ({ ':status': status }) => statuses.push(status));
      asked.write(Buffer.alloc(MIB - 1, ' '));
    }
    await eventually(() => expect(statuses).toContain(429), { withinMs: 60_000 });
    expect(new Set(statuses)).toEqual(new Set([429]));
  });
});
