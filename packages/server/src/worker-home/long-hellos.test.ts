import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

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
