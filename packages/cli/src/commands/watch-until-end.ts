/** Shows a job change by change until it ends. Ctrl-C ends the watching, not the job. */
import type { JobStatusReport } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { plainText } from '../output/plain-text.ts';
import { showSpan } from '../output/times.ts';
import { WaitingLine } from '../output/waiting-line.ts';
import { EXIT } from '../program/exit-codes.ts';

/** Answers success only for a job that completed, so that scripts can wait for it. */
export async function watchUntilEnd(cli: Cli, jobId: string): Promise<number> {
  const { out } = cli;
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const waiting = new WaitingLine(out.terminal);
  let last: JobStatusReport | undefined;
  try {
    for await (const status of client.watch(jobId, { signal })) {
      last = status;
      waiting.end();
      out.entry(status, lineOf(status, cli));
      waiting.start(status.status);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    waiting.end();
    out.note(`Watching ended; the job goes on: carillon jobs show ${jobId} --watch`);
    return EXIT.interrupted;
  } finally {
    waiting.end();
  }
  return last?.status === 'completed' ? EXIT.ok : EXIT.failed;
}

function lineOf({ status, last_updated: at, latest_run: run }: JobStatusReport, { out }: Cli): string {
  const attempt = run && run.attempt_number > 1 ? `, attempt ${run.attempt_number}` : '';
  const took = run?.end_time ? ` in ${showSpan(run.start_time, run.end_time)}` : '';
  const detail = run ? `run ${run.run_id} ${run.status}${took}${attempt}` : 'not run yet';
  const why = plainText(run?.error_message ?? run?.reason ?? '');
  return `${out.moment(at)}  ${out.state(status.padEnd(9))}  ${detail}${why && `: ${why}`}`;
}
