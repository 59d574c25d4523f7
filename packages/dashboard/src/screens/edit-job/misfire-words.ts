/**
 * What an outage would leave of a schedule, in words: which of the fires that it swallows are made up for, by the misfire policy of the
 * job. The rule is that of `plan-fires.ts` in the domain. Pure.
 */
import type { Json } from '@carillon/client';
import { isObject } from './job-body.ts';

/** Shorter outages leave nothing out. */
const STANDSTILL_MS_MAX = 5_000;
/** The latest is run by every policy when it is no later than this. */
const GRACE_MS = 60_000;
const RUNS_MAX = 100;
const WINDOW_SECONDS = 86_400;
/** Fires that the outage of the example swallows. */
const MISSED = 3;

interface Misfire {
  readonly policy: 'none' | 'last' | 'all';
  readonly maxRuns: number;
  readonly windowMs: number;
}

function readMisfire(given: Json | undefined): Misfire {
  const { policy, max_runs: runs, window_seconds: seconds } = isObject(given) ? given : {};
  return {
    policy: policy === 'none' || policy === 'all' ? policy : 'last',
    maxRuns: typeof runs === 'number' ? runs : RUNS_MAX,
    windowMs: (typeof seconds === 'number' ? seconds : WINDOW_SECONDS) * 1_000,
  };
}

/** Of those that were missed, in their order: the ones that run once something can run again, at `nowMs`. */
function madeUpFor(
  missed: readonly number[],
  { policy, maxRuns, windowMs }: Misfire,
  nowMs: number,
): number[] {
  if (policy === 'all') {
    const late = missed.filter((at) => nowMs - at <= GRACE_MS);
    const overdue = missed.filter((at) => nowMs - at > GRACE_MS && nowMs - at <= windowMs);
    return [...overdue.slice(-maxRuns), ...late];
  }
  if (nowMs - missed[0]! <= STANDSTILL_MS_MAX) return [...missed];
  const latest = missed.at(-1)!;
  return policy === 'last' || nowMs - latest <= GRACE_MS ? [latest] : [];
}

/** fires: the next ones; `clock` tells an instant. undefined: too few to tell anything. */
export function misfireWords(
  given: Json | undefined,
  fires: readonly string[],
  clock: (at: Date) => string,
): string | undefined {
  const times = fires.map((at) => Date.parse(at));
  const missed = times.slice(0, MISSED).slice(0, times.length - 1);
  const endMs = times[missed.length];
  if (missed.length === 0 || endMs === undefined) return undefined;
  const misfire = readMisfire(given);
  const run = madeUpFor(missed, misfire, endMs - 1);
  const at = (ms: number) => clock(new Date(ms));
  const outage = `If nothing could run from ${at(missed[0]!)} until just before ${at(endMs)}, ${outcome(missed, run, at)}`;
  const pause =
    misfire.policy === 'all' ? 'So is what a pause leaves out.' : 'What a pause leaves out is skipped.';
  return `${outage} ${pause}`;
}

function outcome(missed: readonly number[], run: readonly number[], at: (ms: number) => string): string {
  const others = missed.length - run.length;
  if (run.length === 0)
    return missed.length === 1 ? 'that run is skipped.' : `all ${others} runs are skipped.`;
  if (others === 0)
    return missed.length === 1
      ? 'that run is made up for then.'
      : `all ${run.length} runs are made up for then.`;
  const kept = run.length === 1 ? `only that of ${at(run[0]!)} is` : `the latest ${run.length} are`;
  return `${kept} made up for then; ${others === 1 ? 'the other one is' : `the other ${others} are`} skipped.`;
}
