/** Jobs for people: as rows, and one with all that matters about it. */
import type { Job, JobStatusReport, Run } from '@carillon/client';
import type { Output } from './output.ts';
import type { Column } from './table.ts';

export function jobColumns(out: Output): Column<Job>[] {
  return [
    { header: 'ID', value: ({ job_id }) => job_id, fixed: true },
    { header: 'NAME', value: ({ name }) => name },
    { header: 'STATUS', value: statusWord, fixed: true, paint: (text) => out.state(text) },
    { header: 'SCHEDULE', value: (job) => scheduleText(job, (iso) => out.dayOrTime(iso)) },
    { header: 'NEXT RUN', value: (job) => out.shortTime(job.next_run_time) },
    { header: 'HANDLER', value: ({ handler }) => handler },
    { header: 'NAMESPACE', value: ({ namespace }) => namespace },
  ];
}

/** One set of words for people, that of the status of a job: SCHEDULED is how the definition says pending. */
function statusWord({ status }: Pick<Job, 'status'>): string {
  return status === 'SCHEDULED' ? 'pending' : status.toLowerCase();
}

/** `onceText`: for a job that runs once, its instant in words. */
export function scheduleText(job: Job, onceText: (iso: string) => string): string {
  const zone = job.time_zone === null || job.time_zone === 'UTC' ? '' : ` ${job.time_zone}`;
  if (job.cron_expression !== null) return `${job.cron_expression}${zone}`;
  if (job.interval !== null) return `every ${job.interval}`;
  if (job.schedule_type !== 'FUTURE') return 'once, now';
  return job.schedule_time === null ? 'once, later' : onceText(job.schedule_time);
}

export function jobFacts(
  job: Job,
  status: JobStatusReport | undefined,
  out: Output,
): (readonly [string, string | undefined])[] {
  const run = status?.latest_run;
  return [
    ['id', job.job_id],
    ['name', job.name],
    ['status', status?.status ?? statusWord(job)],
    ['schedule', scheduleText(job, (iso) => `once, at ${out.time(iso)}`)],
    ['next run', out.time(job.next_run_time)],
    ['last run', run ? lastRunText(run, out) : undefined],
    ['last run id', run?.run_id],
    ['waits because', run?.reason ?? undefined],
    ['handler', job.handler],
    ['payload', JSON.stringify(job.payload, null, 2)],
    ['priority', job.priority],
    ['retries', `${job.max_retries} (${job.retry.strategy})`],
    ['timeout', job.timeout_seconds === null ? undefined : `${job.timeout_seconds} s`],
    ['concurrency', `${job.max_concurrency}, then ${job.overlap}`],
    ['namespace', job.namespace],
    ['user', job.user_id ?? undefined],
    ['labels', pairsText(job.labels)],
    ['version', String(job.version)],
    ['created', out.time(job.created_at)],
    ['updated', out.time(job.updated_at)],
  ];
}

function lastRunText(run: Run, out: Output): string {
  const words = [run.status, out.time(run.end_time ?? run.start_time)].filter(Boolean).join(' ');
  return run.error_message ? `${words}: ${run.error_message}` : words;
}

function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
