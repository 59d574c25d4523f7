/** Shows a job change by change until it ends. Ctrl-C ends the watching, not the job. */
import type { JobStatusReport } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT } from '../program/exit-codes.ts';

/** Answers failure when the job failed, so that scripts can wait for it. */
export async function watchUntilEnd(cli: Cli, jobId: string): Promise<number> {
  const { out } = cli;
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  let last: JobStatusReport | undefined;
  try {
    for await (const status of client.watch(jobId, { signal })) {
      last = status;
      out.entry(status, lineOf(status, cli));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    out.note('Watching ended; the job goes on.');
  }
  return last?.status === 'failed' ? EXIT.failed : EXIT.ok;
}

function lineOf({ status, last_updated: at, latest_run: run }: JobStatusReport, { out }: Cli): string {
  const attempt = run && run.attempt_number > 1 ? `, attempt ${run.attempt_number}` : '';
  const detail = run ? `run ${run.run_id} ${run.status}${attempt}` : 'not run yet';
  const why = plainText(run?.error_message ?? run?.reason ?? '');
  return `${out.time(at)}  ${out.state(status.padEnd(9))}  ${detail}${why && `: ${why}`}`;
}
