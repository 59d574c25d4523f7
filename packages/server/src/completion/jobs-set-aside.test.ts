import type { JobId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { JobsSetAside } from './jobs-set-aside.ts';

const [ONE, OTHER] = ['one', 'other'] as JobId[] as [JobId, JobId];

test('a job is set aside for a while from the last time it was found locked', () => {
  const clock = new ManualClock(0);
  const aside = new JobsSetAside({ clock });
  expect(aside.add([ONE])).toBe(1);
  clock.advance(4_000);
  expect(aside.add([ONE, OTHER])).toBe(1);
  clock.advance(4_999);
  expect([aside.has(ONE), aside.has(OTHER), aside.isEmpty]).toEqual([true, true, false]);
  clock.advance(1);
  expect([aside.has(ONE), aside.has(OTHER)]).toEqual([false, false]);
});

test('it is empty again once the time of the last job is over, though no other is set aside', () => {
  const clock = new ManualClock(0);
  const aside = new JobsSetAside({ clock });
  expect(aside.isEmpty).toBe(true);
  aside.add([ONE]);
  clock.advance(3_000);
  aside.add([OTHER]);
  clock.advance(4_999);
  expect(aside.isEmpty).toBe(false);
  clock.advance(1);
  expect(aside.isEmpty).toBe(true);
  expect(aside.add([ONE])).toBe(1);
});
