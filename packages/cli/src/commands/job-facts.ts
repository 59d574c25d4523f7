/** A job in words: as `jobs show` tells it, and the parts of that which lists show too. */
import type { Job, JobStatusReport, ListedJob, Run } from '@carillon/client';
import type { Fact, Output } from '../output/output.ts';
import { outcomeText } from './watch.ts';

export function jobFacts(job: Job, { latest_run: run }: JobStatusReport, out: Output): Fact[] {
  return [
    ['id', job.job_id],
    ['name', job.name],
    ['status', statusWord(job)],
    ['schedule', scheduleText(job, (iso) => `once, at ${out.time(iso)}`)],
    ['next run', out.time(job.next_run_at)],
    ['skipped fires', job.skipped_fires.map(({ at, by }) => `${out.time(at)} by ${by}`).join('\n')],
    ['last run', run && lastRunText(run, out)],
    ['last run id', run?.run_id],
    ['waiting runs', job.waiting_runs ? String(job.waiting_runs) : undefined],
    ['waits because', job.waiting_reason],
    ['handler', job.handler],
    ...payloadFacts(job),
    ['priority', job.priority],
    ['retries', `${job.max_retries} (${job.retry.strategy})`],
    ['timeout', job.timeout_seconds === null ? undefined : `${job.timeout_seconds} s`],
    ['concurrency', `${job.max_concurrency}, then ${job.overlap}`],
    ['namespace', job.namespace],
    ['user', ownerName(job)],
    [
      'labels',
      Object.entries(job.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    ],
    ['version', String(job.version)],
    ['created', out.time(job.created_at)],
    ['updated', out.time(job.updated_at)],
    ...otherFacts(job),
  ];
}

/** The source of a script as it was written: as a JSON string it would be one long line. */
function payloadFacts({ handler, payload }: Job): Fact[] {
  const { script, ...others } = payload ?? {};
  if (handler !== 'script' || typeof script !== 'string')
    return [['payload', JSON.stringify(payload, null, 2)]];
  const isAll = Object.keys(others).length === 0;
  return [
    ['payload', isAll ? undefined : JSON.stringify(others, null, 2)],
    ['script', script.trimEnd()],
  ];
}

const SHOWN_ABOVE = new Set([
  ...[
    'job_id',
    'name',
    'status',
    'namespace',
    'user_id',
    'user_name',
    'handler',
    'priority',
    'max_retries',
    'max_concurrency',
  ],
  ...[
    'schedule_type',
    'schedule_time',
    'cron_expression',
    'interval',
    'frequency',
    'time_zone',
    'next_run_at',
    'next_run_time',
  ],
  ...['overlap', 'timeout_seconds', 'version', 'created_at', 'updated_at', 'waiting_runs', 'waiting_reason'],
]);

/** Fields that are set and have no words of their own above. */
function otherFacts(job: Job): Fact[] {
  return Object.entries(job)
    .filter(([name, value]) => !SHOWN_ABOVE.has(name) && value && typeof value !== 'object')
    .map(([name, value]) => [name.replaceAll('_', ' '), String(value)]);
}

function lastRunText(run: Run, out: Output): string {
  const words = [run.status, out.time(run.ended_at ?? run.started_at)].filter(Boolean).join(' ');
  const why = outcomeText({ ...run, reason: null });
  return why === '' ? words : `${words}: ${why}`;
}

/** The id where no user has it, or the server is older and tells no names. */
export function ownerName({
  user_name: name,
  user_id: id,
}: Pick<Job, 'user_name' | 'user_id'>): string | null {
  return name ?? id;
}

/** The words of the API in small letters, here and everywhere else. */
export function statusWord({ status }: Pick<Job, 'status'>): string {
  return status.toLowerCase();
}

/** `onceText`: the instant of a job that runs once, in words. */
export function scheduleText(job: ListedJob, onceText: (iso: string) => string): string {
  const zone = job.time_zone === null || job.time_zone === 'UTC' ? '' : ` ${job.time_zone}`;
  if (job.cron_expression !== null) return `${job.cron_expression}${zone}`;
  if (job.interval !== null) return `every ${job.interval}`;
  if (job.schedule_type !== 'FUTURE') return 'once, now';
  return job.schedule_time === null ? 'once, later' : onceText(job.schedule_time);
}
