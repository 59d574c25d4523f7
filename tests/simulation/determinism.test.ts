import { expect, it } from 'vitest';
import { runSimulation } from './run-simulation.ts';

it('the same seed gives the same history, another seed another one', async () => {
  const digests = new Set<number>();
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    // Half of them with workers on other machines, whatever the seed has.
    const profile = seed % 2 === 0 ? { remoteWorkers: 2, cuts: 4 } : {};
    const first = await runSimulation({ seed, profile });
    const second = await runSimulation({ seed, profile });
    expect(second.digest()).toBe(first.digest());
    digests.add(first.digest());
  }
  expect(digests.size).toBe(6);
});
