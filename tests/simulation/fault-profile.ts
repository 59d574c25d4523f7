/**
 * Which faults a simulation has, and how often. Every seed switches a different part of them on: a history with every fault
 * at once rarely gets far enough to show a subtle one.
 */
import type { Chance } from './world.ts';

/** What a process plays besides answering requests. */
export interface Plays {
  readonly scheduler: boolean;
  readonly dispatcher: boolean;
}

const ALL: Plays = { scheduler: true, dispatcher: true };
const SCHEDULES: Plays = { scheduler: true, dispatcher: false };
const DISPATCHES: Plays = { scheduler: false, dispatcher: true };
const ANSWERS: Plays = { scheduler: false, dispatcher: false };

export interface FaultProfile {
  readonly nodes: number;
  /** What the processes of each node play, and so how many nodes there are. Empty: all of them play everything. */
  readonly roles: readonly Plays[];
  readonly slots: number;
  /** Unrecorded outcomes of a process: at most so many, or twice its slots if that is more. */
  readonly unrecordedMaxLeast: number;
  readonly safetyMs: number;
  readonly lookAheadMs: number;
  readonly lookAheadRowsMax: number;
  /** Per storage call. */
  readonly slowCall: number;
  readonly slowCallMsMax: number;
  /** Per claim, beside what may happen to every call. */
  readonly slowClaim: number;
  readonly failBefore: number;
  readonly failAfter: number;
  /** It takes too long. After: though it was applied, which callers need not expect of one call, but of several in a row. */
  readonly timeoutBefore: number;
  readonly timeoutAfter: number;
  readonly crashBefore: number;
  readonly crashAfter: number;
  /** Per message. */
  readonly loseHandOver: number;
  readonly loseSignal: number;
  /** Jobs that come at once while things go wrong, and more of them, of several tenants, when that is over; 0: none. */
  readonly backlog: number;
  /** Per job: its runs take longer than a worker may be silent. */
  readonly longRuns: number;
  /** Per job: it takes down the process that runs it. */
  readonly poison: number;
  /** How many of these fall into the safety phase. */
  readonly outages: number;
  readonly outageMsMax: number;
  /** Somebody holds the history locked, or a job. */
  readonly historyLocks: number;
  readonly jobLocks: number;
  readonly lockMsMax: number;
  readonly crashes: number;
  readonly pauses: number;
  readonly pauseMsMax: number;
  readonly restarts: number;
  readonly clockSteps: number;
  /** The storage's own clock is set, forward or back. */
  readonly storageClockSteps: number;
  readonly storageClockStepMsMax: number;
  readonly skewMsMax: number;
  /** Workers on other machines, beside the worker in each process. */
  readonly remoteWorkers: number;
  /** Per frame on a stream of theirs. */
  readonly slowFrame: number;
  readonly slowFrameMsMax: number;
  readonly cutStream: number;
  /** Streams that are cut whatever is sent on them. */
  readonly cuts: number;
  /** A worker is cut off from every server. */
  readonly partitions: number;
  readonly partitionMsMax: number;
}

export function faultProfile(chance: Chance): FaultProfile {
  const maybe = (probability: number, value: () => number) => (chance.happens(probability) ? value() : 0);
  return {
    nodes: chance.pick([1, 1, 2, 2, 3, 4]),
    slots: chance.pick([2, 4, 16]),
    safetyMs: chance.integer(30, 120) * 1_000,
    lookAheadMs: chance.pick([5_000, 60_000, 300_000]),
    lookAheadRowsMax: chance.pick([5, 50_000, 50_000]),
    slowCall: maybe(0.4, () => chance.between(0.002, 0.05)),
    slowCallMsMax: chance.pick([1_000, 4_000, 12_000, 30_000]),
    failBefore: maybe(0.4, () => chance.between(0.002, 0.1)),
    failAfter: maybe(0.4, () => chance.between(0.002, 0.1)),
    crashBefore: maybe(0.2, () => chance.between(0.0002, 0.002)),
    crashAfter: maybe(0.2, () => chance.between(0.0002, 0.002)),
    loseHandOver: maybe(0.3, () => chance.between(0.02, 0.3)),
    loseSignal: maybe(0.4, () => (chance.happens(0.3) ? 1 : chance.between(0.05, 1))),
    poison: maybe(0.1, () => 0.1),
    outages: maybe(0.3, () => chance.integer(1, 2)),
    outageMsMax: chance.pick([3_000, 12_000, 40_000]),
    crashes: maybe(0.35, () => chance.integer(1, 4)),
    pauses: maybe(0.4, () => chance.integer(1, 4)),
    pauseMsMax: chance.pick([3_000, 20_000, 60_000]),
    restarts: maybe(0.25, () => chance.integer(1, 3)),
    clockSteps: maybe(0.3, () => chance.integer(1, 4)),
    storageClockSteps: maybe(0.3, () => chance.integer(1, 4)),
    storageClockStepMsMax: chance.pick([1_500, 10_000, 100_000, 1_800_000]),
    skewMsMax: chance.pick([0, 2_000, 300_000, 86_400_000]),
    timeoutBefore: maybe(0.25, () => chance.between(0.002, 0.1)),
    timeoutAfter: maybe(0.25, () => chance.between(0.002, 0.1)),
    historyLocks: maybe(0.2, () => chance.integer(1, 2)),
    jobLocks: maybe(0.2, () => chance.integer(1, 6)),
    lockMsMax: chance.pick([3_000, 13_000, 30_000]),
    unrecordedMaxLeast: chance.pick([0, 0, 1_000]),
    backlog: maybe(0.06, () => chance.integer(150, 200)),
    roles: chance.happens(0.35) ? rolesApart(chance) : [],
    remoteWorkers: maybe(0.35, () => chance.integer(1, 3)),
    slowFrame: maybe(0.3, () => chance.between(0.002, 0.05)),
    slowFrameMsMax: chance.pick([1_000, 6_000, 20_000]),
    cutStream: maybe(0.4, () => chance.between(0.002, 0.05)),
    cuts: maybe(0.5, () => chance.integer(1, 6)),
    partitions: maybe(0.3, () => chance.integer(1, 3)),
    partitionMsMax: chance.pick([5_000, 40_000]),
    slowClaim: maybe(0.2, () => chance.between(0.02, 0.3)),
    longRuns: maybe(0.3, () => 0.3),
  };
}

export function rolesOf({ roles }: FaultProfile, node: number): Plays {
  return roles[node] ?? ALL;
}

/** Nobody plays both, or few do; each role is played by somebody. */
function rolesApart(chance: Chance): Plays[] {
  const others = [SCHEDULES, DISPATCHES, DISPATCHES, ANSWERS, ALL];
  const count = chance.integer(0, 2);
  return [SCHEDULES, DISPATCHES, ...Array.from({ length: count }, () => chance.pick(others))];
}

/** A world where nothing goes wrong. */
export function faultless(profile: FaultProfile): FaultProfile {
  return {
    ...profile,
    ...{ slowCall: 0, slowClaim: 0, failBefore: 0, failAfter: 0, timeoutBefore: 0, timeoutAfter: 0 },
    ...{ crashBefore: 0, crashAfter: 0, loseHandOver: 0, historyLocks: 0, jobLocks: 0 },
    loseSignal: 0,
    ...{ poison: 0, longRuns: 0 },
    outages: 0,
    crashes: 0,
    pauses: 0,
    restarts: 0,
    clockSteps: 0,
    storageClockSteps: 0,
    ...{ slowFrame: 0, cutStream: 0, cuts: 0, partitions: 0 },
  };
}
