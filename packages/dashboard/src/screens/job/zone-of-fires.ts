/** In which zone the fires of a job are shown, and the words for it. Pure. */
import type { Job } from '@carillon/client';

/** Clocks make a cron expression; an interval is counted from an instant, and is read by the clock of who looks at it. */
export function zoneOfFires(
  { schedule_type: type, time_zone: zone }: Pick<Job, 'schedule_type' | 'time_zone'>,
  own: string,
) {
  return type === 'INTERVAL' ? own : (zone ?? own);
}

export function firesTitle(job: Pick<Job, 'schedule_type' | 'time_zone' | 'status'>, own: string): string {
  const zone = zoneOfFires(job, own);
  const isTold = zone !== own || (job.time_zone !== null && job.time_zone !== own);
  return `Next fires${job.status === 'PAUSED' ? ' if it is resumed' : ''}${isTold ? `, times of ${zone}` : ''}`;
}
