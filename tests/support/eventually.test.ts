import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';

it('returns what the first successful try returns', async () => {
  let tries = 0;
  const result = await eventually(
    () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return 'there';
    },
    { withinMs: 10_000 },
  );
  expect(result).toBe('there');
  expect(tries).toBe(3);
});

it('gives up with the last reason', async () => {
  await expect(
    eventually(() => Promise.reject(new Error('the door is shut')), { withinMs: 1 }),
  ).rejects.toThrow(/still not so after \d+ ms and \d+ tries: the door is shut/);
});
