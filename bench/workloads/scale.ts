/**
 * Ten thousand and ten million (P4, P6): the same measurements over a small and a large store, in one run and, where a
 * ratio is judged, in interleaved rounds: a machine that slows down slows both.
 */
import { spawnSync } from 'node:child_process';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../carillon-workloads.ts';
import { askDelay, askDrain } from '../engine/ask-engine.ts';
import type { DelayFigures } from '../engine/measure-delay.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import { failed } from '../finding.ts';
import { fillDatabase } from '../scale/fill-database.ts';
import { judgeScale, scaleClaims, tableOfScale } from '../scale/judge-scale.ts';
import { createDatabase, type Store } from '../stores.ts';
import { count } from '../text-table.ts';

const smallJobs = 10_000;
const warmUpJobs = 10_000;
/** As many as the drain workload has: what is compared is the cost per job, and few slots would hide it behind waiting. */
const drainSlots = 2_000;

export type ScaledStore = {
  readonly jobs: number;
  readonly history: number;
  readonly fillSeconds: number;
  readonly delay: DelayFigures;
  readonly drains: readonly DrainFigures[];
};

export const scale: CarillonWorkload = {
  name: 'scale',
  summary: 'start, memory, latency and cost per job with 10 thousand and with 10 million jobs',

  async run(run): Promise<CarillonOutcome> {
    const { settings } = run;
    const method = `Stores with one-off jobs spread over the coming year, and history of the past weeks, written to the disk before anything is measured. Ready: from the start of the engine until a job that was due before has started. Started: 1,000 jobs/s, as in the latency workload. Memory: the most the process ever had, load generator included. Drained: jobs/s from the first start until all are recorded, median of interleaved rounds (${settings.rounds}).`;
    const common = { method, machineParts: ['node', 'postgres'] } as const;
    try {
      const [small, large] = await measureBoth(run);
      const table = tableOfScale([small, large]);
      return { ...common, table, findings: judgeScale(small, large), figures: { small, large } };
    } catch (error) {
      return {
        ...common,
        table: [],
        findings: Object.values(scaleClaims).map((claim) => failed(claim, error)),
        figures: null,
      };
    }
  },
};

async function measureBoth(run: CarillonRun): Promise<[ScaledStore, ScaledStore]> {
  const { settings, urls } = run;
  const stores: Store[] = [];
  try {
    const small = await createDatabase(urls);
    stores.push(small);
    const large = await createDatabase(urls);
    stores.push(large);
    const smallFill = await fill(run, small, {
      jobs: smallJobs,
      history: Math.min(smallJobs, settings.history),
    });
    const largeFill = await fill(run, large, { jobs: settings.scale, history: settings.history });
    // Gigabytes were just written: what the system still has to bring to the disk would hold up commits of either store.
    spawnSync('sync');
    const smallDelay = await measureDelay(run, small);
    const largeDelay = await measureDelay(run, large);
    const smallDrains: DrainFigures[] = [];
    const largeDrains: DrainFigures[] = [];
    for (let round = 1; round <= settings.rounds; round += 1) {
      smallDrains.push(await measureDrain(run, small));
      largeDrains.push(await measureDrain(run, large));
    }
    return [
      { ...smallFill, delay: smallDelay, drains: smallDrains },
      { ...largeFill, delay: largeDelay, drains: largeDrains },
    ];
  } finally {
    for (const store of stores) await store.drop();
  }
}

async function fill(
  { abort, log }: CarillonRun,
  store: Store,
  size: { jobs: number; history: number },
): Promise<Pick<ScaledStore, 'jobs' | 'history' | 'fillSeconds'>> {
  log(`scale: filling a database with ${count(size.jobs)} jobs and ${count(size.history)} rows of history`);
  const startedAt = performance.now();
  await fillDatabase({ databaseUrl: store.env.databaseUrl, ...size, abort });
  await store.settle();
  const fillSeconds = (performance.now() - startedAt) / 1_000;
  log(`scale: filled in ${count(fillSeconds)} s`);
  return { ...size, fillSeconds };
}

async function measureDelay({ settings, abort, log }: CarillonRun, store: Store): Promise<DelayFigures> {
  const figures = await askDelay(
    {
      databaseUrl: store.env.databaseUrl,
      slots: settings.slots,
      warmUpJobs,
      load: { kind: 'steady', perSecond: 1_000, seconds: settings.quick ? 3 : 10 },
    },
    abort,
  );
  log(`scale: ready in ${count(figures.readyMs)} ms, p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms`);
  return figures;
}

async function measureDrain(
  { settings, postgresPid, abort, log }: CarillonRun,
  store: Store,
): Promise<DrainFigures> {
  const figures = await askDrain(
    {
      databaseUrl: store.env.databaseUrl,
      slots: drainSlots,
      storePid: postgresPid,
      warmUpJobs,
      jobs: settings.quick ? 10_000 : 50_000,
    },
    abort,
  );
  const { submitPerSecond, drainPerSecond } = figures;
  log(`scale: submitted ${count(submitPerSecond)}/s, drained ${count(drainPerSecond)}/s`);
  return figures;
}
