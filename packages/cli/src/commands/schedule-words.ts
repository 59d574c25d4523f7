/** A schedule in the words of the server, so that `--every 15` is seen to mean seconds before it has run for a night. */
import type { Carillon, Job } from '@carillon/client';
import { mapAtOnce } from '../definitions/plan.ts';
import { optional } from './actions.ts';

type Scheduled = Pick<Job, 'cron_expression' | 'interval' | 'schedule_time' | 'time_zone' | 'start_at'>;

/** Undefined for one that does not recur, and where the server does not say. */
export async function scheduleWords(client: Carillon, job: Scheduled): Promise<string | undefined> {
  const { cron_expression: cron, interval, schedule_time: at, time_zone: zone, start_at: start } = job;
  if (cron === null && interval === null) return undefined;
  const fields = { cron_expression: cron, interval, schedule_time: at, time_zone: zone, start_at: start };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  return (await optional(client.schedules.preview({ ...given, count: 1 })))?.description;
}

/** So many are asked for: a long list is read by nobody. */
const DISTINCT_MAX = 50;

/** Of each job. Jobs of one schedule are asked for once. */
export async function schedulesInWords<T extends Scheduled>(
  client: Carillon,
  jobs: readonly T[],
): Promise<ReadonlyMap<T, string | undefined>> {
  const groups = Map.groupBy(jobs, (job) =>
    JSON.stringify([job.cron_expression, job.interval, job.schedule_time, job.time_zone, job.start_at]),
  );
  const few = [...groups.values()].slice(0, DISTINCT_MAX);
  const words = await mapAtOnce(few, async (alike) => {
    const [first] = alike;
    const text = first && (await scheduleWords(client, first));
    return alike.map((job) => [job, text] as const);
  });
  return new Map(words.flat());
}
