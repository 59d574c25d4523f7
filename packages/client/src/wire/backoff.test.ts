import { expect, test } from 'vitest';
import { backoffMs, pause } from './backoff.ts';

test('waits grow, bounded, and differ by chance', () => {
  const most = [1, 2, 3, 10, 50].map((failures) => backoffMs(failures, { chance: 1 }));
  expect(most).toEqual([200, 400, 800, 10_000, 10_000]);
  expect(backoffMs(3, { chance: 0 })).toBe(400);
});

test('what the server asks for is never undercut', () => {
  expect(backoffMs(1, { retryAfterMs: 5_000, chance: 0 })).toBe(5_000);
  expect(backoffMs(9, { retryAfterMs: 0, chance: 1 })).toBe(100);
});

test('an aborted pause ends with the reason', async () => {
  await expect(pause(60_000, AbortSignal.abort('enough'))).rejects.toBe('enough');
});
