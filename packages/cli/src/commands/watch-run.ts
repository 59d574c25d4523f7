/** Shows a run change by change until it has ended for good. Ctrl-C ends the watching, not the run. */
import type { RunWithAttempts } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { plainText } from '../output/plain-text.ts';
import { WaitingLine } from '../output/waiting-line.ts';
import { EXIT } from '../program/exit-codes.ts';
import { followRun } from './follow-run.ts';

/** Answers failure when the run did not succeed. */
export async function watchRun(cli: Cli, runId: string): Promise<number> {
  const { out } = cli;
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const waiting = new WaitingLine(out.terminal);
  let last: RunWithAttempts | undefined;
  for await (const run of followRun(client, runId, signal)) {
    last = run;
    const why = plainText(run.error_message ?? run.reason ?? '');
    const attempt = run.attempt_number > 1 ? ` attempt ${run.attempt_number}` : '';
    waiting.end();
    out.entry(
      run,
      `${out.moment(run.modified_time)}  ${out.state(run.status.padEnd(9))}${attempt}${why && `  ${why}`}`,
    );
    waiting.start(run.status);
  }
  waiting.end();
  if (signal.aborted) {
    out.note(`Watching ended; the run goes on: carillon runs show ${runId} --watch`);
    return EXIT.interrupted;
  }
  return last?.status === 'SUCCESS' ? EXIT.ok : EXIT.failed;
}
