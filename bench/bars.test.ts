import { describe, expect, it } from 'vitest';
import { judgePeers } from './bars.ts';
import { type SystemSummary, withoutFigures } from './summary.ts';

function measured(name: string, rates: { submit: number; drain: number }): SystemSummary {
  const spread = (median: number) => ({ median, min: median, max: median });
  return {
    ...withoutFigures(name, ''),
    submit: spread(rates.submit),
    drain: spread(rates.drain),
    problem: null,
  };
}

function verdicts(summaries: readonly SystemSummary[]) {
  return judgePeers(summaries).map(({ bar, against, ratio, verdict }) => [
    bar,
    against.join(),
    ratio,
    verdict,
  ]);
}

describe('the bars beside peers', () => {
  const carillon = measured('carillon', { submit: 90, drain: 100 });
  const graphile = measured('graphile-worker', { submit: 90, drain: 40 });

  it('hold Carillon against the faster of the peers that a bar names', () => {
    const peers = ['pg-boss', 'bullmq', 'river'].map((name, i) =>
      measured(name, { submit: 1, drain: [80, 25, 50][i]! }),
    );
    expect(verdicts([carillon, graphile, ...peers])).toEqual([
      ['P1', 'graphile-worker,pg-boss', 1.25, 'not met'],
      ['P1', 'bullmq', 4, 'met'],
      ['P1', 'river', 2, 'not met'],
      ['P8', 'graphile-worker', 1, 'met'],
    ]);
  });

  it('are not measured when a peer they name was not run', () => {
    expect(verdicts([carillon, graphile]).map(([, , ratio, verdict]) => [ratio, verdict])).toEqual([
      [null, 'not measured'],
      [null, 'not measured'],
      [null, 'not measured'],
      [1, 'met'],
    ]);
  });
});
