/** The bars Carillon is held against beside its peers, each a ratio within one run, and the verdict on each. */
import type { SystemSummary } from './summary.ts';

export type Phase = 'drain' | 'submit';

export type Verdict = {
  readonly bar: string;
  readonly phase: Phase;
  /** The peers it names: of several, the faster one counts. */
  readonly against: readonly string[];
  readonly ratioMin: number;
  readonly ratio: number | null;
  readonly verdict: 'met' | 'not met' | 'not measured';
};

const bars = [
  { bar: 'P1', phase: 'drain', against: ['graphile-worker', 'pg-boss'], ratioMin: 2 },
  { bar: 'P1', phase: 'drain', against: ['bullmq'], ratioMin: 4 },
  { bar: 'P1', phase: 'drain', against: ['river'], ratioMin: 3 },
  { bar: 'P8', phase: 'submit', against: ['graphile-worker'], ratioMin: 1 },
] as const;

/** A bar whose peers were not all run stays in the list as not measured, so that nobody forgets it. */
export function judgePeers(summaries: readonly SystemSummary[]): readonly Verdict[] {
  return bars.map((bar) => {
    const ratios = bar.against.map((peer) => ratioTo(summaries, bar.phase, peer));
    const ratio = ratios.some((each) => each === null) ? null : Math.min(...ratios.map(Number));
    const verdict = ratio === null ? 'not measured' : ratio >= bar.ratioMin ? 'met' : 'not met';
    return { ...bar, ratio, verdict };
  });
}

/** Carillon's median rate over that of the other, or null when either has no figures. */
export function ratioTo(summaries: readonly SystemSummary[], phase: Phase, peer: string): number | null {
  const ours = summaries.find(({ name }) => name === 'carillon')?.[phase];
  const theirs = summaries.find(({ name }) => name === peer)?.[phase];
  return ours && theirs ? ours.median / theirs.median : null;
}
