import { expect, it } from 'vitest';
import { runSimulation } from './run-simulation.ts';

it('the same seed gives the same history, another seed another one', async () => {
  const digests = new Set<number>();
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const first = await runSimulation({ seed });
    const second = await runSimulation({ seed });
    expect(second.digest()).toBe(first.digest());
    digests.add(first.digest());
  }
  expect(digests.size).toBe(6);
});
