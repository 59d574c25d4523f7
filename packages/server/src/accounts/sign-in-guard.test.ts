import { ManualClock } from '@carillon/foundation';
import { describe, expect, it } from 'vitest';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { SignInGuard } from './sign-in-guard.ts';

const MINUTE_MS = 60_000;

function scene() {
  const clock = new ManualClock(Date.UTC(2030, 0, 1, 12));
  const counters = new MemoryCounters();
  /** As "name address". */
  const homes = new Set<string>();
  const store = { hasSignedInFrom: async (name: string, address: string) => homes.has(`${name} ${address}`) };
  const guard = new SignInGuard({ counters, clock, store });
  const tries = async (count: number, attempt: { name: string; address?: string }) => {
    let refused = 0;
    for (let i = 0; i < count; i += 1) {
      await guard.begin({ address: '203.0.113.7', ...attempt }).catch(() => {
        refused += 1;
      });
    }
    return refused;
  };
  return { clock, guard, homes, tries, another: () => new SignInGuard({ counters, clock, store }) };
}

describe('guessing passwords', () => {
  it('of one name is slowed to five in a minute from one address', async () => {
    const { clock, guard, tries } = scene();
    expect(await tries(5, { name: 'ada' })).toBe(0);
    await expect(guard.begin({ name: 'ada', address: '203.0.113.7' })).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 60,
    });
    expect(await tries(1, { name: 'ada', address: '198.51.100.1' })).toBe(0);
    expect(await tries(1, { name: 'bob' })).toBe(0);
    clock.advance(MINUTE_MS);
    expect(await tries(1, { name: 'ada' })).toBe(0);
  });

  it('is told of a few times for one address, however many names it tries', async () => {
    const { guard } = scene();
    let told = 0;
    for (let attempt = 0; attempt < 1_800; attempt += 1) {
      const who = { name: `name ${Math.floor(attempt / 6)}`, address: '203.0.113.7' };
      await guard
        .begin(who, async () => {
          told += 1;
        })
        .catch(() => undefined);
    }
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThanOrEqual(7);
  });

  it('of one name ends after twenty in a quarter of an hour', async () => {
    const { clock, guard, tries } = scene();
    for (let minute = 0; minute < 4; minute += 1) {
      expect(await tries(5, { name: 'ada' })).toBe(0);
      clock.advance(MINUTE_MS);
    }
    await expect(guard.begin({ name: 'ada', address: '203.0.113.7' })).rejects.toMatchObject({
      retryAfterSeconds: 11 * 60,
    });
  });

  it('of one name from many addresses is slowed to ten in a minute', async () => {
    const { tries } = scene();
    let refused = 0;
    for (let i = 0; i < 15; i += 1) refused += await tries(1, { name: 'ada', address: `198.51.100.${i}` });
    expect(refused).toBe(5);
  });

  it('from elsewhere does not lock anybody out where they have signed in before', async () => {
    const { clock, homes, tries } = scene();
    homes.add('ada 203.0.113.7');
    for (let minute = 0; minute < 5; minute += 1) {
      for (let i = 0; i < 30; i += 1) await tries(1, { name: 'ada', address: `198.51.100.${i}` });
      clock.advance(MINUTE_MS);
    }
    expect(await tries(1, { name: 'ada', address: '198.51.100.99' })).toBe(1);
    expect(await tries(1, { name: 'ada', address: '203.0.113.7' })).toBe(0);
  });

  it('is slowed where they have signed in before, too', async () => {
    const { homes, tries } = scene();
    homes.add('ada 203.0.113.7');
    expect(await tries(8, { name: 'ada' })).toBe(3);
  });

  it('of a name that nobody has is slowed the same', async () => {
    const { homes, tries } = scene();
    homes.add('ada 203.0.113.7');
    let refused = 0;
    for (let i = 0; i < 15; i += 1) refused += await tries(1, { name: 'nobody', address: `198.51.100.${i}` });
    expect(refused).toBe(5);
  });

  it('from one address is limited over all names, also those that nobody has', async () => {
    const { tries } = scene();
    let refused = 0;
    for (let i = 0; i < 40; i += 1) refused += await tries(1, { name: `name-${i}` });
    expect(refused).toBe(10);
    expect(await tries(1, { name: 'other', address: '198.51.100.1' })).toBe(0);
  });

  it('on several servers is counted together', async () => {
    const { tries, another } = scene();
    expect(await tries(5, { name: 'ada' })).toBe(0);
    await expect(another().begin({ name: 'ada', address: '203.0.113.7' })).rejects.toThrow(
      'too many attempts',
    );
  });

  it('many sent at once count like one after the other', async () => {
    const { guard } = scene();
    const ended = await Promise.allSettled(
      Array.from({ length: 50 }, () => guard.begin({ name: 'ada', address: undefined })),
    );
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('whoever knows the password is not slowed by knowing it', async () => {
    const { guard } = scene();
    for (let i = 0; i < 50; i += 1) {
      const attempt = await guard.begin({ name: 'ada', address: '203.0.113.7' });
      await attempt.succeeded();
    }
  });
});
