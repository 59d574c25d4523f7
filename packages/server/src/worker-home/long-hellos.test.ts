import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let streams: RawStreams;

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  streams = new RawStreams((await home.listen()).address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

describe('a worker that connects', () => {
  test.each([
    [
      'handlers',
      { handlers: Array.from({ length: 200 }, (_, at) => ({ name: `h-${at}-`.padEnd(100, 'x') })) },
    ],
    [
      'labels',
      { labels: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`, 'ä'.repeat(200)])) },
    ],
  ])(
    'with more text in its %s than a worker needs is refused for good, and told what to do',
    async (_, over) => {
      const stream = streams.open();
      stream.hello({ offer: { slots: 1, handlers: [{ name: 'quick' }], ...over } });
      await stream.untilEnded();
      expect(stream.goodbye).toMatchObject({ dialAgain: false });
      expect(stream.goodbye?.reason).toMatch(
        /handlers and the labels of a worker .* 16384 bytes together, .* have 2\d{4}: .* several workers/,
      );
      expect(home.link.workers()).toEqual([]);
    },
  );

  const schema = (bytes: number) => `{"description":"${'x'.repeat(bytes - 18)}"}`;
  const offering = (handlers: number, bytes: number) => ({
    offer: {
      slots: 1,
      handlers: Array.from({ length: handlers }, (_, i) => ({ name: `h${i}`, parameters: schema(bytes) })),
    },
  });

  test.each([
    [1, 65_537, /parameters of the handler h0 have 65537 bytes, and may have 65536/],
    [
      17,
      65_000,
      /parameters of the handlers of a worker may have 1048576 bytes together, .* several workers/,
    ],
  ])('with the parameters of %i handlers in %i bytes each is refused for good', async (count, bytes, why) => {
    const stream = streams.open();
    stream.hello(offering(count, bytes));
    await stream.untilEnded();
    expect(stream.goodbye).toMatchObject({ dialAgain: false });
    expect(stream.goodbye?.reason).toMatch(why);
    expect(home.described).toEqual([]);
  });

  test('with many parameters costs no memory for them while it is connected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heapMb = () => {
      collect();
      return process.memoryUsage().heapUsed / 1e6;
    };
    await streams.connected();
    const before = heapMb();
    for (let i = 0; i < 30; i += 1) {
      const stream = await streams.connected(offering(16, 65_000));
      expect(home.described.splice(0)).toHaveLength(16);
      // Either side keeps the message before until there is another.
      stream.say({ beat: { sequence: 1 } });
      await eventually(() => expect(stream.heard.some(({ beatAnswer }) => beatAnswer)).toBe(true), SOON);
    }
    expect(heapMb() - before).toBeLessThan(15);
  });

  test('with many handlers is welcome, and logged by their number and the first of them', async () => {
    const handlers = Array.from({ length: 1_000 }, (_, at) => ({ name: `task-${at}` }));
    const stream = await streams.connected({ offer: { slots: 1, handlers } });
    await stream.welcomed();
    const line = home.told.find(([, message]) => message === 'a worker has connected');
    expect(line?.[0]).toMatchObject({
      ...{ handlers: 1_000, firstHandlers: ['task-0', 'task-1', 'task-2', 'task-3', 'task-4'] },
    });
  });
});
