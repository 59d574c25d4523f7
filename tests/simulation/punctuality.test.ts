/** Where nothing fails, schedules fire at their instant: on any number of nodes, whatever the look-ahead and its memory. */
import { expect, it } from 'vitest';
import { runSimulation } from './run-simulation.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);
/** Memory may be full, which costs a read; a shard may be another node's, which costs a hint. */
const LATE_MS_MAX = 100;

it.each(SEEDS)('seed %i: no fire is late', async (seed) => {
  const { failure, fireLatenessMsMax, report } = await runSimulation({ seed, calm: true });
  if (failure) throw new Error(report());
  expect(fireLatenessMsMax).toBeLessThan(LATE_MS_MAX);
});

it.each(SEEDS)('seed %i: one node with room to look ahead fires within a round trip', async (seed) => {
  const profile = { nodes: 1, roles: [], lookAheadMs: 300_000, lookAheadRowsMax: 50_000 };
  const { failure, fireLatenessMsMax, report } = await runSimulation({ seed, calm: true, profile });
  if (failure) throw new Error(report());
  expect(fireLatenessMsMax).toBeLessThan(20);
});
