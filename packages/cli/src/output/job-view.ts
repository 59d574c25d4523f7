/** Jobs for people: as rows, and one with all that matters about it. */
import type { Job, JobStatusReport } from '@carillon/client';
import type { Output } from './output.ts';
import type { Column } from './table.ts';

export function jobColumns(out: Output): Column<Job>[] {
  return [
    { header: 'ID', value: ({ job_id }) => job_id, whole: true },
    { header: 'NAME', value: ({ name }) => name },
    { header: 'STATUS', value: ({ status }) => status, whole: true, paint: (text) => out.state(text) },
    { header: 'SCHEDULE', value: scheduleText },
    { header: 'NEXT RUN', value: (job) => out.shortTime(job.next_run_time) },
    { header: 'HANDLER', value: ({ handler }) => handler },
    { header: 'NAMESPACE', value: ({ namespace }) => namespace },
  ];
}

export function scheduleText(job: Job): string {
  const zone = job.time_zone === null || job.time_zone === 'UTC' ? '' : ` ${job.time_zone}`;
  if (job.cron_expression !== null) return `${job.cron_expression}${zone}`;
  if (job.interval !== null) return `every ${job.interval}`;
  return job.schedule_type === 'FUTURE' ? 'once, later' : 'once, at once';
}

export function jobFacts(
  job: Job,
  status: JobStatusReport | undefined,
  out: Output,
): (readonly [string, string | undefined])[] {
  const run = status?.latest_run;
  const error = run?.error_message ? `: ${run.error_message}` : '';
  return [
    ['id', job.job_id],
    ['name', job.name],
    ['status', status?.status ?? job.status],
    ['schedule', scheduleText(job)],
    ['next run', out.time(job.next_run_time)],
    ['last run', run ? `${run.status} ${out.time(run.end_time ?? run.start_time)}${error}` : undefined],
    ['waits because', run?.reason ?? undefined],
    ['handler', job.handler],
    ['payload', JSON.stringify(job.payload, null, 2)],
    ['priority', job.priority],
    ['retries', `${job.max_retries} (${job.retry.strategy})`],
    ['timeout', job.timeout_seconds === null ? undefined : `${job.timeout_seconds} s`],
    ['at once', `${job.max_concurrency}, then ${job.overlap}`],
    ['namespace', job.namespace],
    ['user', job.user_id ?? undefined],
    ['labels', pairsText(job.labels)],
    ['version', String(job.version)],
    ['created', out.time(job.created_at)],
    ['updated', out.time(job.updated_at)],
  ];
}

function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
