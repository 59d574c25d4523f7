/**
 * Due → started (P3): jobs created ahead of time, and how long after its instant each handler was called. Every load gets
 * an empty database and an engine in a process of its own.
 */
import { askDelay } from '../engine/ask-engine.ts';
import { jobCountOf, type Load } from '../engine/loads.ts';
import type { DelayFigures } from '../engine/measure-delay.ts';
import { bound, type Finding, findingsOf } from '../findings.ts';
import { onDatabase } from '../stores.ts';
import { count, milliseconds } from '../text-table.ts';
import type { CarillonOutcome, CarillonSettings, CarillonWorkload } from '../workloads.ts';

type Scenario = {
  readonly name: string;
  readonly load: Load;
  readonly limits: readonly { readonly figure: keyof typeof words; readonly belowMs: number }[];
};

const words = { p50Ms: 'p50', p99Ms: 'p99', maxMs: 'the last' } as const;

export const latency: CarillonWorkload = {
  name: 'latency',
  summary: 'due → started at 1,000 and 10,000 jobs/s, and for herds due at one instant',

  async run(run): Promise<CarillonOutcome> {
    const { settings, urls, log, abort } = run;
    const table = [['load', 'jobs', 'p50', 'p99', 'max', 'earliest', 'started once']];
    const findings: Finding[] = [];
    const figures: Record<string, DelayFigures> = {};
    for (const { name, load, limits } of scenariosOf(settings)) {
      if (abort.aborted) break;
      const jobs = count(jobCountOf(load));
      const bounds = limits.map(({ figure, belowMs }) => ({
        figure,
        ...bound('P3', `${name}: ${words[figure]}`, { below: belowMs }, milliseconds),
      }));
      const measureLoad = async () => {
        const order = { slots: settings.slots, warmUpJobs: 20_000, load };
        const measured = await onDatabase(urls, (store) => askDelay(run, store, order));
        const { p50Ms, p99Ms, maxMs, minMs } = measured;
        figures[name] = measured;
        table.push([name, jobs, ...[p50Ms, p99Ms, maxMs, minMs].map(milliseconds), 'all']);
        log(`latency ${name}: p50 ${p50Ms} ms, p99 ${p99Ms} ms, max ${maxMs} ms`);
        return bounds.map(({ figure, judge }) => judge(measured[figure]));
      };
      const onFailed = (reason: string) => {
        log(`latency ${name}: FAILED: ${reason}`);
        table.push([name, jobs, '–', '–', '–', '–', 'failed']);
      };
      findings.push(...(await findingsOf(bounds, measureLoad, onFailed)));
    }
    return {
      method: `From the scheduled instant to the call of the handler, rounded up to whole milliseconds; all jobs were created before the first was due, on a warm engine with ${count(settings.slots)} slots. Every job was started exactly once, for its instant, and is recorded.`,
      machineParts: ['node', 'postgres'],
      table,
      findings,
      figures,
    };
  },
};

function scenariosOf({ quick }: CarillonSettings): readonly Scenario[] {
  const herd = quick ? 10_000 : 100_000;
  const cronHerd = quick ? 2_000 : 20_000;
  return [
    {
      name: '1,000 jobs/s',
      load: { kind: 'steady', perSecond: 1_000, seconds: quick ? 3 : 20 },
      limits: [
        { figure: 'p50Ms', belowMs: 10 },
        { figure: 'p99Ms', belowMs: 50 },
      ],
    },
    {
      name: '10,000 jobs/s',
      load: { kind: 'steady', perSecond: 10_000, seconds: quick ? 2 : 10 },
      limits: [{ figure: 'p99Ms', belowMs: 1_000 }],
    },
    {
      name: `${count(herd)} at one instant`,
      load: { kind: 'herd', jobs: herd },
      limits: [{ figure: 'maxMs', belowMs: 5_000 }],
    },
    {
      name: `${count(cronHerd)} of one cron expression`,
      load: { kind: 'cron-herd', jobs: cronHerd },
      limits: [{ figure: 'maxMs', belowMs: 5_000 }],
    },
  ];
}
