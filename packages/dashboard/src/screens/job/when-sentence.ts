/** One sentence that tells when a job runs next, or why it does not. Pure: the zone and the present come from outside. */
import type { Job } from '@carillon/client';
import { clockTime, dayName, duration, offset } from '../../ui/time.ts';
import { capital, scheduleWords } from '../jobs/schedule-words.ts';

export function whenSentence(job: Job, { zone, now }: { zone: string; now: number }): string {
  const words = capital(scheduleWords(job, zone));
  switch (job.status) {
    case 'PAUSED':
      return `${words}; paused: nothing of its schedule starts until it is resumed.`;
    case 'CANCELLED':
      return `${words}; it was cancelled, and does not run again.`;
    case 'COMPLETED':
      return `${words}; it is completed, and does not run again.`;
    case 'FAILED':
      return `${words}; it failed, and does not run again by itself.`;
    default:
      return `${words}; ${upcoming(job, { zone, now })}`;
  }
}

function upcoming(job: Job, { zone, now }: { zone: string; now: number }): string {
  const waits = waitingWords(job);
  if (waits !== undefined) return waits;
  if (job.next_run_at === null)
    return job.status === 'RUNNING'
      ? 'it runs now, and no later run is due.'
      : job.skipped_fires.length > 0
        ? 'every fire that is left is skipped.'
        : 'nothing is due any more.';
  const at = new Date(job.next_run_at);
  const ahead = at.getTime() - now;
  const seconds = at.getTime() % 60_000 !== 0;
  // The words before it are in the zone of the job: another one is named.
  const isOther = job.time_zone !== null && offset(at, job.time_zone) !== offset(at, zone);
  const clock = `${dayName(at, zone)} ${clockTime(at, zone, { seconds })}${isOther ? ` ${zone}` : ''}`;
  const next = ahead <= 1_000 ? 'next now' : `next in ${rough(ahead)} (${clock})`;
  return job.status === 'RUNNING' ? `it runs now, ${next}.` : `${next}.`;
}

/** A run that is due and has not started is what people ask about first. */
function waitingWords({ waiting_runs: runs = 0, waiting_reason: reason }: Job): string | undefined {
  if (runs === 0 || !reason) return undefined;
  const many = runs >= 1_000 ? 'at least 1000 runs wait' : runs === 1 ? 'a run waits' : `${runs} runs wait`;
  return `${many}: ${reason.replace(/\.$/, '')}.`;
}

/** Fractions of a second say nothing about what lies ahead. */
function rough(ms: number): string {
  return duration(Math.max(1_000, Math.floor(ms / 1_000) * 1_000)).replace(/\.\d+ s$/, ' s');
}
