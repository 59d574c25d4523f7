/**
 * Ten thousand and ten million (P4, P6): the same measurements over a small and a large store, in one run and, where a
 * ratio is judged, in interleaved rounds: a machine that slows down slows both.
 */
import { spawnSync } from 'node:child_process';
import { askDelay, askDrain } from '../engine/ask-engine.ts';
import type { DelayFigures } from '../engine/measure-delay.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import { bound, type Finding, findingsOf, judged } from '../findings.ts';
import { median } from '../median.ts';
import { fillDatabase } from '../scale/fill-database.ts';
import { onDatabase, type Store } from '../stores.ts';
import { drainSpread } from '../summary.ts';
import { count, megabytes, milliseconds, rangeWords, times } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

const smallJobs = 10_000;
const warmUpJobs = 10_000;
/** As many as the drain workload has: what is compared is the cost per job, and few slots would hide it behind waiting. */
const drainSlots = 2_000;

/** Within so many milliseconds two delays are the same, whatever their ratio: both are a few milliseconds. */
const sameWithinMs = 5;
const flatRatioMax = 1.2;
const flat = { atMost: flatRatioMax };

const claims = {
  ready: bound('P4', 'large store: ready after start', { below: 5_000 }, milliseconds),
  memory: bound('P4', 'large store: memory of the process', { below: 512e6 }, megabytes),
  p50: bound('P4', 'large store: started, p50', { below: 10 }, milliseconds),
  p99: bound('P4', 'large store: started, p99', { below: 50 }, milliseconds),
  same: {
    bar: 'P4',
    what: 'started, p99: large / small',
    limit: `≤ ${times(flatRatioMax)}, or within ${sameWithinMs} ms`,
  },
  drain: bound('P6', 'drain, cost per job: large / small', flat, times),
  submit: bound('P6', 'submit, cost per job: large / small', flat, times),
} as const;

type ScaledStore = {
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
    let figures: { small: ScaledStore; large: ScaledStore } | null = null;
    const table: string[][] = [];
    const findings = await findingsOf(Object.values(claims), async () => {
      const [small, large] = await onDatabase(run.urls, (smallStore) =>
        onDatabase(run.urls, (largeStore) => measureBoth(run, smallStore, largeStore)),
      );
      figures = { small, large };
      table.push(...tableOf([small, large]));
      return judge(small, large);
    });
    return {
      method: `Stores with one-off jobs spread over the coming year, and history of the past weeks, written to the disk before anything is measured. Ready: from the start of the engine until a job that was due before has started. Started: 1,000 jobs/s, as in the latency workload. Memory: the most the process ever had, load generator included. Drained: jobs/s from the first start until all are recorded, median of interleaved rounds (${run.settings.rounds}).`,
      machineParts: ['node', 'postgres'],
      table,
      findings,
      figures,
    };
  },
};

async function measureBoth(
  run: CarillonRun,
  small: Store,
  large: Store,
): Promise<[ScaledStore, ScaledStore]> {
  const { scale, history, rounds } = run.settings;
  const smallFill = await fill(run, small, { jobs: smallJobs, history: Math.min(smallJobs, history) });
  const largeFill = await fill(run, large, { jobs: scale, history });
  // Gigabytes were just written: what the system still has to bring to the disk would hold up commits of either store.
  spawnSync('sync');
  const smallDelay = await measureDelay(run, small);
  const largeDelay = await measureDelay(run, large);
  const smallDrains: DrainFigures[] = [];
  const largeDrains: DrainFigures[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    smallDrains.push(await measureDrain(run, small));
    largeDrains.push(await measureDrain(run, large));
  }
  return [
    { ...smallFill, delay: smallDelay, drains: smallDrains },
    { ...largeFill, delay: largeDelay, drains: largeDrains },
  ];
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

async function measureDelay(run: CarillonRun, store: Store): Promise<DelayFigures> {
  const { slots, quick } = run.settings;
  const load = { kind: 'steady', perSecond: 1_000, seconds: quick ? 3 : 10 } as const;
  const figures = await askDelay(run, store, { slots, warmUpJobs, load });
  run.log(`scale: ready in ${count(figures.readyMs)} ms, p50 ${figures.p50Ms} ms, p99 ${figures.p99Ms} ms`);
  return figures;
}

async function measureDrain(run: CarillonRun, store: Store): Promise<DrainFigures> {
  const jobs = run.settings.quick ? 10_000 : 50_000;
  const figures = await askDrain(run, store, { slots: drainSlots, warmUpJobs, jobs });
  const { submitPerSecond, drainPerSecond } = figures;
  run.log(`scale: submitted ${count(submitPerSecond)}/s, drained ${count(drainPerSecond)}/s`);
  return figures;
}

function judge(small: ScaledStore, large: ScaledStore): Finding[] {
  const { p50Ms, p99Ms, readyMs } = large.delay;
  const smallP99Ms = small.delay.p99Ms;
  const isSame = p99Ms <= flatRatioMax * smallP99Ms || p99Ms - smallP99Ms <= sameWithinMs;
  return [
    claims.ready.judge(readyMs),
    claims.memory.judge(peakBytesOf(large)),
    claims.p50.judge(p50Ms),
    claims.p99.judge(p99Ms),
    judged(claims.same, `${p99Ms} / ${smallP99Ms} ms`, isSame),
    claims.drain.judge(rateOf(small, 'drainPerSecond') / rateOf(large, 'drainPerSecond')),
    claims.submit.judge(rateOf(small, 'submitPerSecond') / rateOf(large, 'submitPerSecond')),
  ];
}

function tableOf(stores: readonly ScaledStore[]): string[][] {
  const header = ['jobs', 'history', 'ready', 'memory when ready', 'memory, most', 'p50', 'p99', 'max'];
  return [
    [...header, 'submitted/s', 'drained/s (min–max)'],
    ...stores.map((store) => {
      const { delay } = store;
      return [
        count(store.jobs),
        count(store.history),
        milliseconds(delay.readyMs),
        megabytes(delay.atReady.nowBytes),
        megabytes(peakBytesOf(store)),
        ...[delay.p50Ms, delay.p99Ms, delay.maxMs].map(milliseconds),
        count(rateOf(store, 'submitPerSecond')),
        rangeWords(drainSpread(store.drains)),
      ];
    }),
  ];
}

function rateOf({ drains }: ScaledStore, rate: 'submitPerSecond' | 'drainPerSecond'): number {
  return median(drains.map((figures) => figures[rate]));
}

/** Over all processes that ran on the store. */
function peakBytesOf({ delay, drains }: ScaledStore): number {
  return Math.max(delay.atEnd.peakBytes, ...drains.map(({ atEnd }) => atEnd.peakBytes));
}
