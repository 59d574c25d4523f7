/**
 * When a job runs, in plain words, by the same rules as the server's own preview. What has no plain words is named by its
 * expression, so that the words are never wrong. Pure: the zone of one-off times comes from outside.
 */
import type { Job, ListedJob } from '@carillon/client';
import { describeSchedule, parseInterval, type Schedule } from '@carillon/domain';
import { absolute } from '../../ui/time.ts';

export type ScheduledJob = Pick<
  Job | ListedJob,
  'schedule_type' | 'schedule_time' | 'cron_expression' | 'interval' | 'time_zone' | 'start_at' | 'end_at'
>;

/** Such as "every weekday at 09:00 (Europe/Paris)"; a time of a one-off job is told in `zone`. */
export function scheduleWords(job: ScheduledJob, zone: string): string {
  if (job.schedule_type === 'IMMEDIATE') return 'once, when it was made';
  if (job.schedule_type === 'FUTURE')
    return job.schedule_time === null
      ? 'once'
      : `once, at ${absolute(new Date(job.schedule_time), zone).replace(/:00$/, '')}`;
  try {
    return describeSchedule(scheduleOf(job));
  } catch {
    // A rule of a newer server than this page.
    const rule = job.cron_expression ?? `every ${job.interval}`;
    return job.time_zone === null ? rule : `${rule} (${job.time_zone})`;
  }
}

/** The words with a capital, as the beginning of a sentence. */
export function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

function scheduleOf(job: ScheduledJob): Schedule {
  const recurring = {
    zone: job.time_zone ?? 'UTC',
    // No words depend on it. (The default of the domain comes with functions that are made from texts, which no page may do.)
    daylightSaving: { gap: 'run_after', overlap: 'first' } as const,
    spreadMs: 0,
  };
  if (job.schedule_type === 'CRON')
    return { type: 'CRON', expression: job.cron_expression ?? '', ...recurring };
  return {
    ...{ type: 'INTERVAL', interval: parseInterval(job.interval ?? ''), ...recurring },
    anchorMs: Date.parse(job.schedule_time ?? job.start_at ?? ''),
  };
}
