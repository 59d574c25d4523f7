import type { WorkerId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import type { WorkerBeaten } from '../storage/member-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { GroupedBeats } from './grouped-beats.ts';

const ALIVE: WorkerBeaten = { alive: true, draining: false };
const GROUP_MS = 20;

let clock: ManualClock;
let beats: GroupedBeats;
let statements: string[][];
/** Their rows are held by somebody else. */
let locked: Set<string>;
let failure: Error | undefined;
/** What they say fails the statement it is in. */
let poisoned: Set<string>;

beforeEach(() => {
  clock = new ManualClock(1_900_000_000_000);
  statements = [];
  locked = new Set();
  failure = undefined;
  poisoned = new Set();
  const record = (workers: string[]) => {
    statements.push(workers);
    if (failure) throw failure;
    if (workers.some((workerId) => poisoned.has(workerId))) throw new Error('out of range');
  };
  beats = new GroupedBeats({
    clock,
    members: {
      beatWorker: async (workerId) => {
        record([workerId]);
        return ALIVE;
      },
      beatWorkers: async (many) => {
        record(many.map(({ workerId }) => workerId));
        return new Map(
          many.flatMap(({ workerId }) => (locked.has(workerId) ? [] : [[workerId, ALIVE] as const])),
        );
      },
    },
  });
});

const beat = (workerId: string) => beats.beat(workerId as WorkerId, { stuck: 0, session: 1 });

test('the beats of many workers that come within a moment are one statement', async () => {
  const names = Array.from({ length: 50 }, (_, i) => `w${i}`);
  const answers = names.map(beat);
  clock.advance(GROUP_MS);
  expect(await Promise.all(answers)).toEqual(names.map(() => ALIVE));
  expect(statements).toEqual([names]);
  const next = beat('w1');
  clock.advance(GROUP_MS);
  await next;
  expect(statements).toEqual([names, ['w1']]);
});

test('one whose row is held by somebody else is waited for by itself', async () => {
  locked.add('slow');
  const answers = [beat('a'), beat('slow'), beat('b')];
  clock.advance(GROUP_MS);
  expect(await Promise.all(answers)).toEqual([ALIVE, ALIVE, ALIVE]);
  expect(statements).toEqual([['a', 'slow', 'b'], ['slow']]);
});

test('a second stream of a worker is recorded by itself', async () => {
  const answers = [beat('a'), beat('b'), beat('a')];
  clock.advance(GROUP_MS);
  await Promise.all(answers);
  expect(statements).toEqual([['a'], ['a', 'b']]);
});

test.each([
  ['does not answer', new StorageUnavailable('away')],
  ['takes too long', new StorageTimeout('slow')],
])('a storage that %s answers nobody, and is not asked for each of them', async (_, error) => {
  failure = error;
  const answers = Promise.allSettled([beat('a'), beat('b'), beat('c')]);
  clock.advance(GROUP_MS);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(statements).toEqual([['a', 'b', 'c']]);
});

test('one that says what fails a statement fails alone', async () => {
  poisoned = new Set(['liar', 'other liar']);
  locked.add('slow');
  const answers = Promise.allSettled(['a', 'liar', 'b', 'slow', 'other liar', 'c'].map(beat));
  clock.advance(GROUP_MS);
  expect((await answers).map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  ]);
});
