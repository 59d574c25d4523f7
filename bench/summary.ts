/**
 * What the rounds of one system come to: median and range, since one round on a shared machine says little. A system with
 * one failed round has no figures at all: correctness comes before speed.
 */
import type { CoreUsPerJob } from './cpu-time.ts';
import { median } from './median.ts';
import type { RoundResult } from './run-round.ts';
import type { Figures } from './workloads.ts';

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
    submit: spread(rounds.map((figures) => figures.submitPerSecond)),
    drain: spread(rounds.map((figures) => figures.drainPerSecond)),
    submitCoreUs: medianCoreUs(rounds.map((figures) => figures.submitCoreUs)),
    drainCoreUs: medianCoreUs(rounds.map((figures) => figures.drainCoreUs)),
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

export function medianCoreUs(rounds: readonly (CoreUsPerJob | null)[]): CoreUsPerJob | null {
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
