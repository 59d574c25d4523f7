import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { describe, expect, it } from 'vitest';
import type { Counters } from '../counters/counters.ts';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { GatewayFixture } from './gateway.fixture.ts';
import { type RateLimitSettings, RequestLimits } from './rate-limit.ts';

const ADA = { kind: 'key', id: 'ada', userId: undefined } as const;
const BOB = { kind: 'key', id: 'bob', userId: undefined } as const;
const away: Counters = {
  add: () => Promise.reject(new StorageUnavailable('away')),
  forget: () => Promise.reject(new StorageUnavailable('away')),
};

function scene(over: Partial<RateLimitSettings> = {}, counters: Counters = new MemoryCounters()) {
  const clock = new ManualClock();
  const settings = { perCaller: 10, perAddress: 0, burstSeconds: 2, ...over };
  const make = () =>
    new RequestLimits({ settings, counters, clock, random: new SeededRandom(1), log: silentLog });
  return { clock, limits: make(), another: make };
}

/** How many of so many requests get through. */
function admitted(limits: RequestLimits, count: number, caller: typeof ADA | typeof BOB = ADA): number {
  let through = 0;
  for (let i = 0; i < count; i += 1) {
    try {
      limits.admitCaller(caller);
      through += 1;
    } catch {
      // Counted by not being counted.
    }
  }
  return through;
}

describe('a bucket', () => {
  it('lets a burst through, then as many as run in', () => {
    const { clock, limits } = scene();
    expect(admitted(limits, 100)).toBe(20);
    clock.advance(500);
    expect(admitted(limits, 100)).toBe(5);
    clock.advance(3_600_000);
    expect(admitted(limits, 100)).toBe(20);
  });

  it('is everybody’s own', () => {
    const { limits } = scene();
    expect(admitted(limits, 100)).toBe(20);
    expect(admitted(limits, 100, BOB)).toBe(20);
  });

  it('owes what one request did beside its first item, and admits nothing until it is paid', () => {
    const { clock, limits } = scene();
    limits.admitCaller(ADA);
    limits.chargeCaller(ADA, 120);
    expect(limits.allowanceOf(ADA)).toEqual({ limit: 20, remaining: 0, resetSeconds: 12 });
    expect(() => limits.admitCaller(ADA)).toThrow(expect.objectContaining({ retryAfterSeconds: 11 }));
    // Sent at the same time: it was admitted, and does not get through.
    expect(() => limits.chargeCaller(ADA, 120)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
    limits.admitCaller(BOB);
    clock.advance(11_000);
    expect(admitted(limits, 100)).toBe(10);
  });

  it('is charged nothing more for one item', () => {
    const { limits } = scene({ perCaller: 1, burstSeconds: 1 });
    limits.admitCaller(ADA);
    limits.chargeCaller(ADA, 1);
    limits.chargeCaller(ADA, 0);
    expect(limits.allowanceOf(ADA)).toMatchObject({ remaining: 0, resetSeconds: 1 });
  });

  it('says how long to wait', () => {
    const { limits } = scene({ perCaller: 1, burstSeconds: 1 });
    limits.admitCaller(ADA);
    expect(() => limits.admitCaller(ADA)).toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 1, limit: 1 }),
    );
  });

  it('has no bottom where the limit is 0', () => {
    const { limits } = scene({ perCaller: 0 });
    expect(admitted(limits, 10_000)).toBe(10_000);
  });

  it('of an address holds its whole IPv6 neighbourhood', () => {
    const { limits } = scene({ perAddress: 1, burstSeconds: 1 });
    limits.admitAddress('2001:db8::1');
    expect(() => limits.admitAddress('2001:db8::2')).toThrow('Too many requests');
    limits.admitAddress('203.0.113.7');
  });
});

describe('several servers', () => {
  it('take off their buckets what was used on the others', async () => {
    const { clock, limits: here, another } = scene();
    const there = another();
    for (const limits of [here, there]) {
      admitted(limits, 1);
      await limits.runOnce();
    }
    clock.advance(1_000);
    admitted(there, 1);
    expect(admitted(here, 15)).toBe(15);
    await here.runOnce();
    await there.runOnce();
    // Full again after a second of quiet: 20, less one of its own, less the 15 of the other.
    expect(admitted(there, 100)).toBe(4);
  });

  it('together let through what one alone would, and a little more', async () => {
    const { clock, limits: here, another } = scene({ perCaller: 100, burstSeconds: 1 });
    const there = another();
    let through = 0;
    for (let tick = 0; tick < 300; tick += 1) {
      through += admitted(here, 50) + admitted(there, 50);
      clock.advance(100);
      if (tick % 10 === 9) await Promise.all([here.runOnce(), there.runOnce()]);
    }
    // Thirty seconds at 100 a second; each server has a burst of its own to begin with.
    expect(through).toBeGreaterThan(2_900);
    expect(through).toBeLessThan(30 * 100 * 1.3);
  });

  it('go on alone while the counters are away, and say so once', async () => {
    const said: string[] = [];
    const clock = new ManualClock();
    const limits = new RequestLimits({
      settings: { perCaller: 10, perAddress: 0, burstSeconds: 2 },
      ...{ counters: away, clock, random: new SeededRandom(1) },
      log: { ...silentLog, warn: (_facts, message) => void said.push(message) },
    });
    for (let i = 0; i < 5; i += 1) {
      expect(admitted(limits, 5)).toBe(5);
      await limits.runOnce();
      clock.advance(1_000);
    }
    expect(said).toEqual(['requests are limited by this server alone']);
  });

  it('tell nothing when nobody asked', async () => {
    const told: number[] = [];
    const counters = new MemoryCounters();
    const listening: Counters = {
      add: (counts) => {
        told.push(counts.length);
        return counters.add(counts);
      },
      forget: (beforeMs) => counters.forget(beforeMs),
    };
    const { clock, limits } = scene({}, listening);
    admitted(limits, 3);
    admitted(limits, 3, BOB);
    await limits.runOnce();
    clock.advance(60_000);
    await limits.runOnce();
    expect(told).toEqual([2]);
  });
});

describe('the gateway', () => {
  const gateway = (over: Partial<RateLimitSettings>) => {
    const { limits } = scene({ perCaller: 0, ...over });
    return new GatewayFixture({ limits });
  };

  it('answers 429 with when to come back', async () => {
    const fixture = gateway({ perCaller: 1, burstSeconds: 3 });
    const key = await fixture.keyWith({});
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await fixture.askWith(key, 'GET', '/api/jobs')).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const { headers, body } = await fixture.askWith(key, 'GET', '/api/jobs');
    expect(body.code).toBe('rate_limited');
    expect(headers).toMatchObject({
      'retry-after': '1',
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '1',
    });
    expect((await fixture.askWith(await fixture.keyWith({}), 'GET', '/api/jobs')).status).toBe(200);
  });

  it('tells what is left, to whoever has a limit', async () => {
    const fixture = gateway({ perCaller: 2, burstSeconds: 5 });
    const key = await fixture.keyWith({});
    await fixture.askWith(key, 'GET', '/api/jobs');
    const { headers } = await fixture.askWith(key, 'GET', '/api/jobs');
    expect(headers).toMatchObject({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '8',
      'ratelimit-reset': '1',
    });
    expect((await fixture.ask('GET', '/api/jobs')).headers).not.toHaveProperty('ratelimit-limit');
  });

  it('limits an address before it looks at what it brings, guesses included', async () => {
    const fixture = gateway({ perAddress: 2, burstSeconds: 1 });
    const guess = () => fixture.askWith(`ck_aaaaaaaaaa_${'b'.repeat(43)}`, 'GET', '/api/jobs');
    expect([(await guess()).status, (await guess()).status, (await guess()).status]).toEqual([401, 401, 429]);
    const signIn = await fixture.askAs({}, 'POST', '/api/session', { name: 'ada', password: 'x' });
    expect(signIn.status).toBe(429);
  });

  it('never locks out the admin key', async () => {
    const fixture = gateway({ perAddress: 1, perCaller: 1, burstSeconds: 1 });
    for (let i = 0; i < 5; i += 1) expect((await fixture.ask('GET', '/api/jobs')).status).toBe(200);
  });
});
