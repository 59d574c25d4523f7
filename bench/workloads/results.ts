/**
 * The drain with results (P1b): 200 bytes of JSON kept for each run, and one run of twenty failing once and tried again at
 * once. Held against Carillon's own plain drain in the same run, interleaved: what keeping outcomes costs, and nothing else.
 */
import { askDrain } from '../engine/ask-engine.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import type { RunShape } from '../engine/run-shape.ts';
import { bound, findingsOf } from '../findings.ts';
import { warmUpOf } from '../play-rounds.ts';
import { onDatabase } from '../stores.ts';
import { drainCost, drainSpread } from '../summary.ts';
import { costWords, count, rangeWords, splitWords, times } from '../text-table.ts';
import type { CarillonOutcome, CarillonWorkload } from '../workloads.ts';

/** As the drain workload has. */
const slots = 2_000;
const ratio = bound('P1b', 'drain with results / plain drain', { atLeast: 0.75 }, times);

type Figures = Record<RunShape, DrainFigures[]>;

export const results: CarillonWorkload = {
  name: 'results',
  summary: 'drain with a 200-byte result each and 5 % failing once, beside a plain drain',

  async run(run): Promise<CarillonOutcome> {
    const { settings, urls, abort, log } = run;
    const { jobs, rounds } = settings;
    const figures: Figures = { plain: [], results: [] };
    const table: string[][] = [];
    const findings = await findingsOf([ratio], async () => {
      for (let round = 1; round <= rounds && !abort.aborted; round += 1) {
        for (const shape of ['plain', 'results'] as const) {
          const order = { slots, warmUpJobs: warmUpOf(jobs), jobs, shape };
          const measured = await onDatabase(urls, (store) => askDrain(run, store, order));
          figures[shape].push(measured);
          const rate = `${count(measured.drainPerSecond)}/s${costWords(measured.drainCoreUs)}`;
          log(`results ${round}/${rounds} ${shape}: drained ${rate}`);
        }
      }
      table.push(...tableOf(figures));
      return [ratio.judge(drainSpread(figures.results).median / drainSpread(figures.plain).median)];
    });
    return {
      method: `Drains of ${count(jobs)} jobs (warm-up ${count(warmUpOf(jobs))}) with ${count(slots)} slots, each on an empty database and in a process of its own; interleaved rounds: ${rounds}. Rates count runs that succeeded, from the first start until all are recorded; every one did so exactly once, and the failures are those that were planned. core-µs: processor time per job, of PostgreSQL + of the Node process.`,
      machineParts: ['node', 'postgres'],
      table,
      findings,
      figures,
    };
  },
};

function tableOf(figures: Figures): string[][] {
  const row = (name: string, rounds: readonly DrainFigures[]) => [
    name,
    rangeWords(drainSpread(rounds)),
    splitWords(drainCost(rounds)),
  ];
  return [
    ['runs', 'drained/s (min–max)', 'core-µs'],
    row('plain', figures.plain),
    row('200-byte result, 5 % fail once', figures.results),
  ];
}
