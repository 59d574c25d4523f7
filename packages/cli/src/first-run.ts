/** A job that has not run yet: said with when it will, and waited for where its first run is asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CarillonError, type Job, type ListedJob } from '@carillon/client';
import type { Cli } from './cli.ts';
import { Interrupted } from './errors.ts';

export type AwaitedJob = Pick<Job | ListedJob, 'job_id' | 'name' | 'status' | 'next_run_at'>;

const PAUSE_MS = 1_000;
const WILL_RUN: ReadonlySet<string> = new Set(['SCHEDULED', 'RUNNING', 'PAUSED']);

/** The id of its first run, when there is one. Ctrl-C ends the waiting. */
export async function firstRunOf(cli: Cli, job: AwaitedJob, { wait }: { wait: boolean }): Promise<string> {
  if (!wait || !WILL_RUN.has(job.status)) throw notRunYet(cli, job);
  cli.out.note(`${notRunText(cli, job)} Waiting for it; Ctrl-C ends that.`);
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  while (!signal.aborted) {
    const { latest_run: run, status } = await client.jobs.status(job.job_id);
    if (run) return run.run_id;
    if (!WILL_RUN.has(status === 'pending' ? 'SCHEDULED' : status.toUpperCase()))
      throw notRunYet(cli, await client.jobs.get(job.job_id));
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  throw new Interrupted();
}

function notRunYet(cli: Cli, job: AwaitedJob): CarillonError {
  return new CarillonError({
    ...{ code: 'run_not_found', status: 404, message: notRunText(cli, job) },
    fix: `\`carillon jobs run\` runs it at once; \`carillon jobs show ${job.job_id}\` tells more.`,
  });
}

function notRunText({ out }: Cli, { name, status, next_run_at: next }: AwaitedJob): string {
  if (!WILL_RUN.has(status)) return `${name} has not run, and will not: it is ${status.toLowerCase()}.`;
  const when = next === null ? '' : `; next at ${out.shortTime(next)}`;
  return `${name} has not run yet${when}.${status === 'PAUSED' ? ' It is paused.' : ''}`;
}
