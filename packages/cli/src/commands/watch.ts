/** Shows a job or a run, change by change, until it ends. Ctrl-C ends the watching, not the job. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Carillon, JobStatusReport, Run, RunAdded, RunWithAttempts } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT } from '../errors.ts';
import { WaitingLine } from '../output/progress.ts';
import { plainText, showSpan } from '../output/text.ts';

/** Returns success only for a job that completed, so that scripts can wait for it. */
export async function watchJob(cli: Cli, jobId: string): Promise<number> {
  const client = await cli.client();
  return watch(cli, client.watch(jobId, { signal: cli.untilInterrupted() }), {
    success: 'completed',
    line: (report) => jobLine(report, cli),
    interrupted: `Watching ended; the job goes on: carillon jobs show ${jobId} --watch`,
  });
}

/** Returns failure when the run did not succeed. */
export async function watchRun(cli: Cli, runId: string): Promise<number> {
  const client = await cli.client();
  return watch(cli, followRun(client, runId, cli.untilInterrupted()), {
    success: 'SUCCESS',
    line: (run) => runLine(run, cli),
    interrupted: `Watching ended; the run goes on: carillon runs show ${runId} --watch`,
  });
}

/** Reports a run that a command started; with --wait, until it ends. */
export async function showStarted(cli: Cli, run: RunAdded, wait: boolean | undefined): Promise<number> {
  if (wait) {
    cli.out.note(`Started run ${run.run_id}`);
    return watchRun(cli, run.run_id);
  }
  cli.out.done(run, `Started run ${run.run_id}`);
  return EXIT.ok;
}

async function watch<T extends { readonly status: string }>(
  cli: Cli,
  states: AsyncIterable<T>,
  { success, line, interrupted }: { success: string; line: (state: T) => string; interrupted: string },
): Promise<number> {
  const signal = cli.untilInterrupted();
  const waiting = new WaitingLine(cli.out.terminal);
  let last: string | undefined;
  try {
    for await (const state of states) {
      last = state.status;
      waiting.end();
      cli.out.entry(state, line(state));
      waiting.start(stateWord(state.status));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    waiting.end();
  }
  if (signal.aborted) {
    cli.out.note(interrupted);
    return EXIT.interrupted;
  }
  return last === success ? EXIT.ok : EXIT.failed;
}

/** Why a run failed, waits or was skipped; and how many occurrences it stands for, such as those of a pause. */
export function outcomeText({
  error_message: error,
  reason,
  occurrences,
}: Pick<Run, 'error_message' | 'reason' | 'occurrences'>): string {
  const many = occurrences > 1 ? `${occurrences} occurrences` : undefined;
  return [error ?? reason, many].filter(Boolean).join(', ');
}

function jobLine({ status, last_updated: at, latest_run: run }: JobStatusReport, { out }: Cli): string {
  const attempt = run && run.attempt_number > 1 ? `, attempt ${run.attempt_number}` : '';
  const took = run?.ended_at ? ` in ${showSpan(run.started_at, run.ended_at)}` : '';
  const detail = run ? `run ${run.run_id} ${run.status}${took}${attempt}` : 'not run yet';
  const why = run ? plainText(outcomeText(run)) : '';
  return `${out.moment(at)}  ${out.state(stateWord(status).padEnd(9))}  ${detail}${why && `: ${why}`}`;
}

/** The report of a job calls pending what is SCHEDULED everywhere else. */
function stateWord(status: string): string {
  return status === 'pending' ? 'scheduled' : status;
}

function runLine(run: RunWithAttempts, { out }: Cli): string {
  const attempt = run.attempt_number > 1 ? ` attempt ${run.attempt_number}` : '';
  const took = run.ended_at && run.started_at ? ` in ${showSpan(run.started_at, run.ended_at)}` : '';
  const why = plainText([outcomeText(run), handedOutAgain(run)].filter(Boolean).join('; '));
  return `${out.moment(run.updated_at)}  ${out.state(run.status.padEnd(9))}${attempt}${took}${why && `  ${why}`}`;
}

/** Why it is run again: that of the attempt before, which may have had the same number. */
export function handedOutAgain({
  status,
  attempts: [, before],
}: Pick<RunWithAttempts, 'status' | 'attempts'>): string {
  const error = before?.error_message;
  return error && isAlive(status) ? `again, because ${error}` : '';
}

const FIRST_PAUSE_MS = 150;
const PAUSE_MS_MAX = 1_500;
const ALIVE: ReadonlySet<string> = new Set(['QUEUED', 'CLAIMED', 'RUNNING', 'CANCELLING']);

/** Whether the latest attempt has not ended. */
export function isAlive(status: string): boolean {
  return ALIVE.has(status);
}

/**
 * A run, each time it has changed, until it has ended. A failed attempt may be retried: the run has ended when the server
 * returns the same final status twice in a row. Ends without an error when the signal aborts.
 */
export async function* followRun(
  client: Carillon,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<RunWithAttempts, void, undefined> {
  let before = '';
  let wasFinal = false;
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 1.3, PAUSE_MS_MAX)) {
    const run = await client.runs.get(runId, { signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (!run) return;
    const current = `${run.status} ${run.epoch}`;
    const isFinal = !isAlive(run.status);
    if (current !== before) {
      before = current;
      pauseMs = FIRST_PAUSE_MS;
      yield run;
    } else if (wasFinal && isFinal) return;
    wasFinal = isFinal;
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
