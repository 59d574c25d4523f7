/** The bars of the scale workload, each with how it is read, and the verdict on each. */
import { median } from '../median.ts';
import { type Finding, judged } from '../report.ts';
import { drainSpread } from '../summary.ts';
import { count, megabytes, milliseconds, rangeWords, times } from '../text-table.ts';
import type { ScaledStore } from '../workloads/scale.ts';

/** Within so many milliseconds two delays are the same, whatever their ratio: both are a few milliseconds. */
const sameWithinMs = 5;
const flatRatioMax = 1.2;

export const scaleClaims = {
  ready: { bar: 'P4', what: 'large store: ready after start', limit: '< 5,000 ms' },
  memory: { bar: 'P4', what: 'large store: memory of the process', limit: '< 512 MB' },
  p50: { bar: 'P4', what: 'large store: started, p50', limit: '< 10 ms' },
  p99: { bar: 'P4', what: 'large store: started, p99', limit: '< 50 ms' },
  same: {
    bar: 'P4',
    what: 'started, p99: large / small',
    limit: `≤ ${times(flatRatioMax)}, or within ${sameWithinMs} ms`,
  },
  drain: { bar: 'P6', what: 'drain, cost per job: large / small', limit: `≤ ${times(flatRatioMax)}` },
  submit: { bar: 'P6', what: 'submit, cost per job: large / small', limit: `≤ ${times(flatRatioMax)}` },
} as const;

export function judgeScale(small: ScaledStore, large: ScaledStore): Finding[] {
  const { ready, memory, p50, p99, same, drain, submit } = scaleClaims;
  const { delay } = large;
  const isSame =
    delay.p99Ms <= flatRatioMax * small.delay.p99Ms || delay.p99Ms - small.delay.p99Ms <= sameWithinMs;
  const drainCost = rateOf(small, 'drainPerSecond') / rateOf(large, 'drainPerSecond');
  const submitCost = rateOf(small, 'submitPerSecond') / rateOf(large, 'submitPerSecond');
  return [
    judged(ready, milliseconds(delay.readyMs), delay.readyMs < 5_000),
    judged(memory, megabytes(peakBytesOf(large)), peakBytesOf(large) < 512e6),
    judged(p50, milliseconds(delay.p50Ms), delay.p50Ms < 10),
    judged(p99, milliseconds(delay.p99Ms), delay.p99Ms < 50),
    judged(same, `${delay.p99Ms} / ${small.delay.p99Ms} ms`, isSame),
    judged(drain, times(drainCost), drainCost <= flatRatioMax),
    judged(submit, times(submitCost), submitCost <= flatRatioMax),
  ];
}

export function tableOfScale(stores: readonly ScaledStore[]): string[][] {
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
