/**
 * What the rounds of one system come to: median and range, since one round on a shared machine says little. A system with
 * one failed round has no figures at all: correctness comes before speed.
 */
import { median } from './median.ts';
import type { RoundResult } from './play-rounds.ts';
import type { CoreUsPerJob } from './process-use.ts';
import type { Figures } from './workloads/drain.ts';

export type Spread = { readonly median: number; readonly min: number; readonly max: number };

export type SystemSummary = {
  readonly name: string;
  readonly version: string | null;
  readonly keepsHistory: boolean | null;
  readonly submit: Spread | null;
  readonly drain: Spread | null;
  /** Medians over the rounds; null where they could not be read. */
  readonly submitCoreUs: CoreUsPerJob | null;
  readonly drainCoreUs: CoreUsPerJob | null;
  readonly rounds: readonly Figures[];
  /** Why there are no figures: skipped for want of a server, or failed. */
  readonly problem: string | null;
};

export function summarise(name: string, results: readonly RoundResult[]): SystemSummary {
  const failed = results.find((result) => !result.ok);
  if (failed && !failed.ok) return withoutFigures(name, `failed: ${failed.reason}`);
  const played = results.filter((result) => result.ok);
  const first = played[0];
  if (!first) return withoutFigures(name, 'not run');
  const rounds = played.map(({ figures }) => figures);
  return {
    name,
    version: first.version,
    keepsHistory: first.keepsHistory,
    submit: spread(rounds.map(({ submitPerSecond }) => submitPerSecond)),
    drain: drainSpread(rounds),
    submitCoreUs: medianCoreUs(rounds.map(({ submitCoreUs }) => submitCoreUs)),
    drainCoreUs: drainCost(rounds),
    rounds,
    problem: null,
  };
}

export function withoutFigures(name: string, problem: string): SystemSummary {
  return {
    name,
    version: null,
    keepsHistory: null,
    submit: null,
    drain: null,
    submitCoreUs: null,
    drainCoreUs: null,
    rounds: [],
    problem,
  };
}

function medianCoreUs(rounds: readonly (CoreUsPerJob | null)[]): CoreUsPerJob | null {
  const read = rounds.filter((split) => split !== null);
  if (read.length === 0) return null;
  return {
    store: median(read.map(({ store }) => store)),
    system: median(read.map(({ system }) => system)),
  };
}

function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function drainSpread(rounds: readonly Pick<Figures, 'drainPerSecond'>[]): Spread {
  return spread(rounds.map(({ drainPerSecond }) => drainPerSecond));
}

export function drainCost(rounds: readonly Pick<Figures, 'drainCoreUs'>[]): CoreUsPerJob | null {
  return medianCoreUs(rounds.map(({ drainCoreUs }) => drainCoreUs));
}
