/** The simulation bites: with one defect put in, a failing seed is found soon, and for the right reason. */
import { describe, expect, it } from 'vitest';
import type { FaultProfile } from './fault-profile.ts';
import { MUTATIONS } from './mutations.ts';
import { runSimulation } from './run-simulation.ts';

const SEEDS_MAX = 400;

interface Case {
  readonly mutation: keyof typeof MUTATIONS;
  readonly found: RegExp;
  /** Faults that bring it out sooner. */
  readonly profile?: Partial<FaultProfile>;
}

const CASES: readonly Case[] = [
  { mutation: 'acceptStaleReports', found: /was accepted, though it is no longer held/ },
  { mutation: 'fireWithoutCompare', found: /fired twice|two verdicts|expected a verdict|before its time/ },
  {
    mutation: 'takeBackWithoutBurying',
    found: /never told to stop|buried and is told that it lives|was claimed for the dead worker/,
  },
  { mutation: 'forgetCancels', found: /tried again after its cancel|after its cancel was accepted/ },
  { mutation: 'hideUnknownLeases', found: /not at rest/, profile: { loseHandOver: 0.2 } },
  { mutation: 'neverReconcile', found: /not at rest/, profile: { loseSignal: 1 } },
  { mutation: 'neverLookOverLanes', found: /not at rest/, profile: { loseSignal: 1 } },
  { mutation: 'chargeInterruptions', found: /though none before it had failed|with \d+ retries/ },
  { mutation: 'ignoreIdempotencyKeys', found: /was created \d+ times/, profile: { failAfter: 0.1 } },
];

describe('a defect is found', () => {
  it.each(CASES)('$mutation', async ({ mutation, found, profile }) => {
    for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
      const options = { seed, mutate: MUTATIONS[mutation], ...(profile && { profile }) };
      const { failure } = await runSimulation(options);
      if (!failure) continue;
      expect(failure).toMatch(found);
      return;
    }
    expect.unreachable(`${SEEDS_MAX} seeds did not find it`);
  });
});
