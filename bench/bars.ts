/** The bars Carillon is measured against, each a ratio within one run, and the verdict on each. */
import type { SystemSummary } from './summary.ts';

export type Verdict = {
  readonly bar: string;
  readonly against: string;
  readonly ratioMin: number;
  readonly ratio: number | null;
  readonly verdict: 'met' | 'not met' | 'not measured';
};

const drainBars = [
  { bar: 'P1', against: 'graphile-worker', ratioMin: 2 },
  { bar: 'P1', against: 'bullmq', ratioMin: 4 },
  { bar: 'P1', against: 'river', ratioMin: 4 },
  { bar: 'P1', against: 'pg-boss', ratioMin: 8 },
] as const;

/** A peer that was not run keeps its bar in the list, so that nobody forgets it. */
export function judgeDrain(summaries: readonly SystemSummary[]): readonly Verdict[] {
  return drainBars.map(({ bar, against, ratioMin }) => {
    const ratio = drainRatio(summaries, against);
    const verdict = ratio === null ? 'not measured' : ratio >= ratioMin ? 'met' : 'not met';
    return { bar, against, ratioMin, ratio, verdict };
  });
}

/** Carillon's median drain over that of the other, or null when either has no figures. */
export function drainRatio(summaries: readonly SystemSummary[], against: string): number | null {
  const ours = summaries.find(({ name }) => name === 'carillon')?.drain;
  const theirs = summaries.find(({ name }) => name === against)?.drain;
  return ours && theirs ? ours.median / theirs.median : null;
}
