/** Shows a run change by change until it has ended for good. Ctrl-C ends the watching, not the run. */
import type { RunWithAttempts } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT } from '../program/exit-codes.ts';
import { followRun } from './follow-run.ts';

/** Answers failure when the run did not succeed. */
export async function watchRun(cli: Cli, runId: string): Promise<number> {
  const { out } = cli;
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  let last: RunWithAttempts | undefined;
  for await (const run of followRun(client, runId, signal)) {
    last = run;
    const why = plainText(run.error_message ?? run.reason ?? '');
    const attempt = run.attempt_number > 1 ? ` attempt ${run.attempt_number}` : '';
    out.entry(
      run,
      `${out.time(run.modified_time)}  ${out.state(run.status.padEnd(9))}${attempt}${why && `  ${why}`}`,
    );
  }
  if (signal.aborted) {
    out.note('Watching ended; the run goes on.');
    return EXIT.ok;
  }
  return last?.status === 'SUCCESS' ? EXIT.ok : EXIT.failed;
}
