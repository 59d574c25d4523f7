/** Streams that are refused: what the log says of them, how often, and for how long a key is held off. */
import { ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { ProtocolBroken, StreamStalled } from './frame-bounds.ts';
import { HelloRefused } from './read-hello.ts';
import { RefusedStreams } from './refused-streams.ts';

let clock: ManualClock;
let lines: [facts: object, message: string][];
let streams: RefusedStreams;

beforeEach(() => {
  clock = new ManualClock();
  lines = [];
  const warn = (facts: object, message: string) => void lines.push([facts, message]);
  streams = new RefusedStreams({ clock, log: { ...silentLog, warn } });
});

const owner = (over: { keyId?: string; workerId?: string } = {}) => ({
  ...{ keyId: 'key', workerId: 'worker' },
  ...over,
});
const breaks = (times: number, of = owner()) => {
  for (let i = 0; i < times; i += 1) streams.failed(of, new ProtocolBroken('the columns differ'), undefined);
};

describe('a key whose workers break the protocol', () => {
  test('is held off for a minute after five breaches within one', () => {
    breaks(4);
    expect(streams.heldOff('key')).toBeUndefined();
    breaks(1);
    expect(streams.heldOff('key')).toMatchObject({ dialAgain: true, afterMs: 60_000 });
    expect(streams.heldOff('another key')).toBeUndefined();
    clock.advance(59_000);
    expect(streams.heldOff('key')).toMatchObject({ afterMs: 1_000 });
    clock.advance(1_000);
    expect(streams.heldOff('key')).toBeUndefined();
    breaks(4);
    expect(streams.heldOff('key')).toBeUndefined();
  });

  test('is not held off for breaches that are further apart', () => {
    for (let i = 0; i < 20; i += 1) {
      breaks(1);
      clock.advance(15_000);
      expect(streams.heldOff('key')).toBeUndefined();
    }
  });

  test('is not held off for workers that are slow, that are refused, or whose streams we could not serve', () => {
    for (let i = 0; i < 10; i += 1) {
      streams.failed(owner(), new StreamStalled('no hello came'), undefined);
      streams.failed(owner(), new HelloRefused('no slots'), undefined);
      streams.failed(owner(), new Error('the database does not answer'), undefined);
      streams.refused(owner(), { reason: 'another process works under this id', dialAgain: true });
    }
    expect(streams.heldOff('key')).toBeUndefined();
  });

  test('is not held off for streams that were cut within a message, as when workers behind a proxy are killed', () => {
    for (const words of ['promised 1000 bytes, received 10', 'incomplete envelope'])
      for (let i = 0; i < 10; i += 1)
        streams.failed(owner(), new Error(), `The message cannot be read: protocol error: ${words}.`);
    expect(streams.heldOff('key')).toBeUndefined();
  });

  test('is not held off for one worker that breaks it whenever it may come back', () => {
    for (let i = 0; i < 20; i += 1) {
      const { afterMs = 0 } = streams.failed(owner(), new ProtocolBroken('the columns differ'), undefined);
      clock.advance(afterMs);
      expect(streams.heldOff('key')).toBeUndefined();
    }
  });

  test('is held off for bytes that are no message', () => {
    for (let i = 0; i < 5; i += 1)
      expect(streams.failed(owner(), new Error(), 'The message cannot be read.')).toMatchObject({
        ...{ reason: 'The message cannot be read.', dialAgain: true },
      });
    expect(streams.heldOff('key')).toBeDefined();
  });

  test('is forgotten when a thousand others came after it', () => {
    breaks(5);
    for (let i = 0; i < 999; i += 1) breaks(1, owner({ keyId: `key ${i}` }));
    expect(streams.heldOff('key')).toBeDefined();
    breaks(1, owner({ keyId: 'one more' }));
    expect(streams.heldOff('key')).toBeUndefined();
  });
});

describe('the log', () => {
  const taken = { reason: 'another process works under this id', dialAgain: true };

  test('says once a minute what is wrong with a worker', () => {
    for (let i = 0; i < 10; i += 1) streams.refused(owner(), taken);
    streams.refused(owner({ workerId: 'another' }), taken);
    streams.failed(owner(), new HelloRefused('no slots'), undefined);
    expect(lines).toEqual([
      [{ ...owner(), reason: taken.reason }, 'a worker was refused'],
      [{ ...owner({ workerId: 'another' }), reason: taken.reason }, 'a worker was refused'],
      [{ ...owner(), reason: 'no slots' }, 'a worker was refused'],
    ]);
    clock.advance(60_000);
    streams.refused(owner(), taken);
    expect(lines).toHaveLength(4);
  });

  test('has at most ten lines a minute for a key, whatever ids its workers make up', () => {
    for (let i = 0; i < 100; i += 1) streams.refused(owner({ workerId: `worker ${i}` }), taken);
    expect(lines).toHaveLength(10);
    streams.refused(owner({ keyId: 'another key' }), taken);
    expect(lines).toHaveLength(11);
  });

  test('names a key that is held off', () => {
    breaks(5);
    expect(lines).toEqual([
      [{ ...owner(), reason: 'the columns differ' }, 'a worker broke the protocol; its stream was ended'],
      [{ keyId: 'key', seconds: 60 }, 'a key whose workers break the protocol is held off'],
    ]);
  });
});
