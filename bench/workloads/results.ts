/**
 * The drain with results (P1b): 200 bytes of JSON kept for each run, and one run of twenty failing once and tried again at
 * once. Held against Carillon's own plain drain in the same run, interleaved: what keeping outcomes costs, and nothing else.
 */
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../carillon-workloads.ts';
import { askDrain } from '../engine/ask-engine.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import type { RunShape } from '../engine/run-shape.ts';
import { failed, judged } from '../finding.ts';
import { median } from '../median.ts';
import { warmUpOf } from '../play-rounds.ts';
import { createDatabase } from '../stores.ts';
import { medianCoreUs } from '../summary.ts';
import { count, splitWords, times } from '../text-table.ts';

/** As the drain workload has. */
const slots = 2_000;
const ratioMin = 0.75;
const claim = { bar: 'P1b', what: 'drain with results / plain drain', limit: `≥ ${times(ratioMin)}` };

type Figures = Record<RunShape, DrainFigures[]>;

export const results: CarillonWorkload = {
  name: 'results',
  summary: 'drain with a 200-byte result each and 5 % failing once, beside a plain drain',

  async run(run): Promise<CarillonOutcome> {
    const { settings, abort, log } = run;
    const figures: Figures = { plain: [], results: [] };
    const common = {
      method: `Drains of ${count(settings.jobs)} jobs (warm-up ${count(warmUpOf(settings.jobs))}) with ${count(slots)} slots, each on an empty database and in a process of its own; interleaved rounds: ${settings.rounds}. Rates count runs that succeeded, from the first start until all are recorded; every one did so exactly once, and the failures are those that were planned. core-µs: processor time per job, of PostgreSQL + of the Node process.`,
      machineParts: ['node', 'postgres'],
    } as const;
    try {
      for (let round = 1; round <= settings.rounds && !abort.aborted; round += 1) {
        for (const shape of ['plain', 'results'] as const) {
          const measured = await measure(run, shape);
          figures[shape].push(measured);
          log(
            `results ${round}/${settings.rounds} ${shape}: drained ${count(measured.drainPerSecond)}/s${costWords([measured])}`,
          );
        }
      }
      const ratio = rateOf(figures.results) / rateOf(figures.plain);
      const findings = [judged(claim, times(ratio), ratio >= ratioMin)];
      return { ...common, table: tableOf(figures), findings, figures };
    } catch (error) {
      return { ...common, table: [], findings: [failed(claim, error)], figures };
    }
  },
};

async function measure(
  { urls, postgresPid, settings, abort }: CarillonRun,
  shape: RunShape,
): Promise<DrainFigures> {
  const store = await createDatabase(urls);
  try {
    const { databaseUrl } = store.env;
    const { jobs } = settings;
    const order = { databaseUrl, slots, warmUpJobs: warmUpOf(jobs), jobs, shape, storePid: postgresPid };
    return await askDrain(order, abort);
  } finally {
    await store.drop();
  }
}

function tableOf(figures: Figures): string[][] {
  const row = (name: string, rounds: readonly DrainFigures[]) => {
    const rates = rounds.map(({ drainPerSecond }) => drainPerSecond);
    const split = medianCoreUs(rounds.map(({ drainCoreUs }) => drainCoreUs));
    return [
      name,
      `${count(median(rates))} (${count(Math.min(...rates))}–${count(Math.max(...rates))})`,
      split ? splitWords(split) : '–',
    ];
  };
  return [
    ['runs', 'drained/s (min–max)', 'core-µs'],
    row('plain', figures.plain),
    row('200-byte result, 5 % fail once', figures.results),
  ];
}

function costWords(rounds: readonly DrainFigures[]): string {
  const split = medianCoreUs(rounds.map(({ drainCoreUs }) => drainCoreUs));
  return split ? ` (core-µs per job: ${splitWords(split)})` : '';
}

function rateOf(rounds: readonly DrainFigures[]): number {
  return median(rounds.map(({ drainPerSecond }) => drainPerSecond));
}
