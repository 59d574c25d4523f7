/** What the server thinks of planned jobs before any is made: when each would run first, or why it would be refused. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import type { PlannedJob } from './job-of-entry.ts';

export interface JudgedJob extends PlannedJob {
  readonly nextAt?: string | undefined;
  readonly refusal?: string | undefined;
}

/** Without a server to ask, the plan stands as it was read, and that is said. */
export async function judgeJobs(cli: Cli, plan: readonly PlannedJob[]): Promise<readonly JudgedJob[]> {
  const bar = new ProgressBar(plan.length, cli.out.terminal);
  const judged: JudgedJob[] = [];
  try {
    for (const planned of plan) {
      judged.push(await judge(cli, planned));
      bar.advance();
    }
    return judged;
  } catch (error) {
    if (!(error instanceof CarillonError) || error.status !== undefined) throw error;
    bar.end();
    cli.out.warn('no server answers, so it was not asked whether it would take these.');
    return plan;
  } finally {
    bar.end();
  }
}

async function judge(cli: Cli, planned: PlannedJob): Promise<JudgedJob> {
  const client = await cli.client();
  const { cron_expression, time_zone } = planned.job;
  try {
    const { fires } = await client.schedules.preview(
      {
        ...(cron_expression !== undefined && { cron_expression }),
        ...(time_zone !== undefined && { time_zone }),
        count: 1,
      },
      { signal: cli.untilInterrupted() },
    );
    return { ...planned, nextAt: fires[0]?.at };
  } catch (error) {
    if (error instanceof CarillonError && error.status === 400) return { ...planned, refusal: error.message };
    throw error;
  }
}
