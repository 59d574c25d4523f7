/** The loads that start delays are measured under: which job is due when, and how each is asked for. */
import type { JobInput } from '../../packages/domain/src/job/job.ts';

export type Load =
  /** One-offs, evenly spread. */
  | { readonly kind: 'steady'; readonly perSecond: number; readonly seconds: number }
  /** One-offs, all at one instant. */
  | { readonly kind: 'herd'; readonly jobs: number }
  /** Recurring jobs that share one expression, all at one instant. */
  | { readonly kind: 'cron-herd'; readonly jobs: number };

type PlannedLoad = {
  readonly instantsMs: Float64Array;
  readonly firstMs: number;
  readonly lastMs: number;
  scheduleOf(index: number): Pick<JobInput, 'scheduleType' | 'scheduleTime' | 'cronExpression'>;
};

export function jobCountOf(load: Load): number {
  return load.kind === 'steady' ? load.perSecond * load.seconds : load.jobs;
}

/** Begins on a whole second at `notBeforeMs` or just after it. */
export function planLoad(load: Load, notBeforeMs: number): PlannedLoad {
  const firstMs = Math.ceil(notBeforeMs / 1_000) * 1_000;
  const instantsMs = new Float64Array(jobCountOf(load)).fill(firstMs);
  if (load.kind === 'steady') {
    for (let i = 0; i < instantsMs.length; i += 1)
      instantsMs[i] = firstMs + Math.floor((i * 1_000) / load.perSecond);
  }
  const expression = load.kind === 'cron-herd' ? onceAYearAt(firstMs) : undefined;
  return {
    instantsMs,
    firstMs,
    lastMs: instantsMs.at(-1)!,
    scheduleOf: (index) =>
      expression === undefined
        ? { scheduleType: 'FUTURE', scheduleTime: new Date(instantsMs[index]!).toISOString() }
        : { scheduleType: 'CRON', cronExpression: expression },
  };
}

/** Six fields, seconds first, in UTC: fires within the run exactly once. */
function onceAYearAt(atMs: number): string {
  const at = new Date(atMs);
  const [date, month] = [at.getUTCDate(), at.getUTCMonth() + 1];
  return `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} ${date} ${month} *`;
}
