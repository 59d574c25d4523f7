/** The simulation bites: with one defect put in, a failing seed is found soon, for the right reason, and passes without it. */
import { describe, expect, it } from 'vitest';
import type { FaultProfile } from './fault-profile.ts';
import { MUTATIONS } from './mutations.ts';
import { runSimulation } from './run-simulation.ts';

const SEEDS_MAX = 400;

interface Case {
  readonly invariant: `SIM-${number}`;
  readonly mutation: keyof typeof MUTATIONS;
  readonly found: RegExp;
  /** Faults that bring it out sooner. */
  readonly profile?: Partial<FaultProfile>;
}

const CASES: readonly Case[] = [
  {
    invariant: 'SIM-3',
    mutation: 'acceptStaleReports',
    found: /was accepted, though it is no longer leased/,
    profile: { pauses: 6, pauseMsMax: 60_000 },
  },
  {
    invariant: 'SIM-2',
    mutation: 'fireWithoutCompare',
    found: /fired twice|two verdicts|expected a verdict|before its time/,
  },
  {
    invariant: 'SIM-3',
    mutation: 'takeBackFromLiving',
    found: /never told to stop|is dead and was answered as living|was claimed for the dead worker/,
  },
  {
    invariant: 'SIM-6',
    mutation: 'forgetCancels',
    found: /tried again after its cancel|after its cancel was accepted|goes on \d+ ms after its cancel/,
  },
  {
    invariant: 'SIM-5',
    mutation: 'hideUnknownLeases',
    // What never reached a worker is missed also when that leaves, and what it holds no longer it is not told to stop.
    found: /not at rest|which had left in order|never told to stop/,
    profile: { loseHandOver: 0.2 },
  },
  { invariant: 'SIM-5', mutation: 'neverReconcile', found: /not at rest/, profile: { loseSignal: 1 } },
  { invariant: 'SIM-5', mutation: 'neverLookOverLanes', found: /not at rest/, profile: { loseSignal: 1 } },
  {
    invariant: 'SIM-7',
    mutation: 'chargeInterruptions',
    found: /though none before it had failed|with \d+ retries/,
  },
  {
    invariant: 'SIM-1',
    mutation: 'ignoreIdempotencyKeys',
    found: /was created \d+ times/,
    profile: { failAfter: 0.1 },
  },
  { invariant: 'SIM-4', mutation: 'oneTooMany', found: /was claimed as number \d+, and the limit/ },
  { invariant: 'SIM-8', mutation: 'markLivingDead', found: /was marked dead after \d+ ms of silence/ },
  { invariant: 'SIM-9', mutation: 'skipByOldMemory', found: /skipped an occurrence with \d+ of \d+ runs/ },
  { invariant: 'SIM-15', mutation: 'forgetSkips', found: /which a person had skipped/ },
  {
    invariant: 'SIM-10',
    mutation: 'ignoreUnrecorded',
    found: /has begun \d+ runs that are not recorded/,
    profile: { backlog: 100, slots: 4, unrecordedMaxLeast: 0, historyLocks: 3, lockMsMax: 30_000 },
  },
  {
    invariant: 'SIM-11',
    mutation: 'fireBehindBacklog',
    found: /was due \d+ ms ago and had not fired/,
    profile: { backlog: 150, nodes: 1, roles: [], slots: 4 },
  },
  {
    invariant: 'SIM-12',
    mutation: 'firstComeFirstServed',
    found: /were not shared out fairly/,
    profile: { backlog: 150, nodes: 1, roles: [], slots: 4 },
  },
  {
    invariant: 'SIM-13',
    mutation: 'saveStaleCheckpoints',
    found: /was saved, though its run is not leased/,
    profile: { pauses: 6, pauseMsMax: 60_000 },
  },
  { invariant: 'SIM-13', mutation: 'saveLateCheckpoints', found: /with the checkpoint .*"step":1\}, and/ },
  {
    invariant: 'SIM-3',
    mutation: 'trustForEver',
    found: /never told to stop|which was taken back before/,
    profile: { remoteWorkers: 2, longRuns: 0.5, partitions: 6, partitionMsMax: 60_000 },
  },
  {
    invariant: 'SIM-3',
    mutation: 'startGivenUp',
    found: /which was taken back before/,
    profile: {
      ...{ remoteWorkers: 3, nodes: 1, roles: [], slots: 2, safetyMs: 120_000 },
      ...{ slowCall: 0, slowClaim: 0.8, slowCallMsMax: 30_000, cuts: 0, cutStream: 0, slowFrame: 0 },
    },
  },
  {
    invariant: 'SIM-10',
    mutation: 'forgetEarlierStreams',
    found: /has begun \d+ runs that are not recorded/,
    profile: { remoteWorkers: 2, slots: 4, unrecordedMaxLeast: 0, backlog: 100, cuts: 10, historyLocks: 3 },
  },
  {
    invariant: 'SIM-14',
    mutation: 'keepWhatWasClaimed',
    found: /which had left in order/,
    profile: {
      remoteWorkers: 3,
      restarts: 20,
      slots: 4,
      backlog: 100,
      slowFrame: 0.5,
      slowFrameMsMax: 1_000,
    },
  },
  {
    invariant: 'SIM-3',
    mutation: 'leaveTooEarly',
    found: /never told to stop|was taken back before|was claimed for the dead worker/,
    profile: { remoteWorkers: 3, restarts: 20, longRuns: 0.5 },
  },
  { invariant: 'SIM-16', mutation: 'tellNoCancels', found: /goes on \d+ ms after its cancel/ },
  { invariant: 'SIM-13', mutation: 'forgetCheckpoints', found: /with the checkpoint undefined, and/ },
];

describe('a defect is found', () => {
  it.each(CASES)('$invariant: $mutation', async ({ mutation, found, profile }) => {
    for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
      const options = { seed, ...MUTATIONS[mutation], ...(profile && { profile }) };
      const { failure } = await runSimulation(options);
      if (!failure) continue;
      expect(failure).toMatch(found);
      const without = await runSimulation({ seed, ...(profile && { profile }) });
      expect(without.failure).toBeUndefined();
      return;
    }
    expect.unreachable(`${SEEDS_MAX} seeds did not find it`);
  });
});
