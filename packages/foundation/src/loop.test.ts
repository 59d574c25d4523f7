import { beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from './log.ts';
import { Loop } from './loop.ts';
import { ManualClock } from './manual-clock.ts';

let clock: ManualClock;
let passes: number;
let warnings: object[];
let pass: () => Promise<number | undefined>;
let loop: Loop;

beforeEach(() => {
  clock = new ManualClock();
  passes = 0;
  warnings = [];
  pass = async () => undefined;
  loop = new Loop({
    name: 'test',
    clock,
    random: { next: () => 0, id: () => 'id' },
    log: { ...silentLog, warn: (facts) => warnings.push(facts) },
    idleMs: 1_000,
    runOnce: () => {
      passes += 1;
      return pass();
    },
  });
});

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

async function advance(ms: number): Promise<void> {
  clock.advance(ms);
  await turns();
}

describe('a loop', () => {
  test('runs its first pass at once and the next after the idle time', async () => {
    loop.start();
    await turns();
    expect(passes).toBe(1);
    await advance(999);
    expect(passes).toBe(1);
    await advance(1);
    expect(passes).toBe(2);
  });

  test('waits as long as the pass says', async () => {
    pass = async () => 10;
    loop.start();
    await advance(0);
    await advance(10);
    expect(passes).toBe(2);
  });

  test('started twice is still one loop', async () => {
    loop.start();
    loop.start();
    await turns();
    expect(passes).toBe(1);
  });

  test('never runs two passes at once, however long one takes (hazard 10)', async () => {
    const slow = Promise.withResolvers<undefined>();
    pass = () => slow.promise;
    loop.start();
    await advance(60_000);
    loop.wake();
    await turns();
    expect(passes).toBe(1);
    slow.resolve(undefined);
    await turns();
    expect(passes).toBe(2);
  });
});

describe('waking', () => {
  test('ends the wait', async () => {
    loop.start();
    await turns();
    loop.wake();
    await turns();
    expect(passes).toBe(2);
  });

  test('during a pass makes one more follow it, however often it is asked for', async () => {
    const first = Promise.withResolvers<undefined>();
    pass = () => (passes === 1 ? first.promise : Promise.resolve(undefined));
    loop.start();
    for (let i = 0; i < 5; i += 1) loop.wake();
    first.resolve(undefined);
    await turns();
    expect(passes).toBe(2);
  });

  test('leaves no timer behind', async () => {
    loop.start();
    await turns();
    for (let i = 0; i < 100; i += 1) {
      loop.wake();
      await turns();
    }
    expect(passes).toBe(101);
    await advance(1_000);
    expect(passes).toBe(102);
  });
});

describe('a pass that fails', () => {
  test('is told, and tried again after growing pauses that have an upper bound', async () => {
    pass = () => Promise.reject(new Error('the database is down'));
    loop.start();
    await turns();
    const pauses: number[] = [];
    for (let i = 0; i < 9; i += 1) {
      pauses.push(clock.untilNextTimer()!);
      await advance(clock.untilNextTimer()!);
    }
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ loop: 'test', failures: 1, err: new Error('the database is down') });
  });

  test('and goes on failing is told once a minute, also where one in between does not fail', async () => {
    pass = async () => {
      if (passes % 7 === 0) return 10;
      throw new Error('the database is down');
    };
    loop.start();
    await turns();
    const begun = clock.monotonic();
    while (clock.monotonic() - begun < 150_000) await advance(clock.untilNextTimer()!);
    expect(passes).toBeGreaterThan(100);
    expect(warnings).toHaveLength(3);
  });

  test('does not end the loop, and success forgets the failures', async () => {
    pass = async () => {
      if (passes < 5) throw new Error('no');
      return undefined;
    };
    loop.start();
    await turns();
    while (passes < 5) await advance(clock.untilNextTimer()!);
    expect(clock.untilNextTimer()).toBe(1_000);
    pass = () => Promise.reject(new Error('again'));
    await advance(1_000);
    expect(clock.untilNextTimer()).toBe(50);
  });

  test('keeps its pause though it was woken meanwhile: a storm of hints must not become a storm of failures', async () => {
    const failing = Promise.withResolvers<undefined>();
    pass = () => failing.promise;
    loop.start();
    loop.wake();
    failing.reject(new Error('no'));
    await turns();
    expect(passes).toBe(1);
    await advance(50);
    expect(passes).toBe(2);
  });
});

describe('stopping', () => {
  test('waits for the pass under way and starts no other', async () => {
    const slow = Promise.withResolvers<undefined>();
    pass = () => slow.promise;
    loop.start();
    let stopped = false;
    void loop.stop().then(() => {
      stopped = true;
    });
    await turns();
    expect(stopped).toBe(false);
    slow.resolve(undefined);
    await turns();
    expect(stopped).toBe(true);
    await advance(60_000);
    expect(passes).toBe(1);
  });

  test('ends a wait at once and leaves no timer behind', async () => {
    loop.start();
    await turns();
    await loop.stop();
    expect(clock.untilNextTimer()).toBeUndefined();
  });

  test('is nothing to a loop that never started, and a stopped one can start again', async () => {
    await loop.stop();
    loop.start();
    await turns();
    await loop.stop();
    loop.start();
    await turns();
    expect(passes).toBe(2);
  });
});
