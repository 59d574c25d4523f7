/** `runs logs`: what a run said; with -f as it comes, until the run ends. */
import type { LogLine } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT } from '../program/exit-codes.ts';
import { followRun } from './follow-run.ts';

export const runsLogs = command<{ readonly follow?: boolean }>({
  name: 'runs logs',
  summary: 'Show the log of a run',
  arguments: [{ name: '<id>', description: 'Id of the run' }],
  options: [{ flags: '-f, --follow', description: 'Go on until the run ends' }],
  examples: [
    'carillon runs logs 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5',
    'carillon runs logs -f 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5',
  ],
  async run({ args: [id = ''], options, cli }) {
    const client = await cli.client();
    const shown = new Set<string>();
    const showNew = async () => {
      const { logs } = await client.runs.logs(id);
      for (const line of logs) showOnce(line, shown, cli);
    };
    if (!options.follow) {
      await showNew();
      return EXIT.ok;
    }
    const signal = cli.untilInterrupted();
    for await (const _ of followRun(client, id, signal)) await showNew();
    if (signal.aborted) return EXIT.interrupted;
    await showNew();
    return EXIT.ok;
  },
});

function showOnce(line: LogLine, shown: Set<string>, { out }: Cli): void {
  const key = `${line.timestamp} ${line.message}`;
  if (shown.has(key)) return;
  shown.add(key);
  out.entry(line, `${out.paint.dim(out.time(line.timestamp))}  ${plainText(line.message)}`);
}
