/** `runs show`: one run with all its attempts; with --watch until it ends. */
import { command } from '../command.ts';
import { runColumns, runFacts } from '../output/run-view.ts';
import { watchRun } from './watch-run.ts';

export const runsShow = command<{ readonly watch?: boolean }>({
  name: 'runs show',
  summary: 'Show a run with all its attempts',
  arguments: [{ name: '<id>', description: 'Id of the run' }],
  options: [{ flags: '-w, --watch', description: 'Show every change until the run ends' }],
  examples: ['carillon runs show 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5'],
  async run({ args: [id = ''], options, cli }) {
    if (options.watch) return watchRun(cli, id);
    const client = await cli.client();
    const run = await client.runs.get(id);
    cli.out.record(run, runFacts(run, cli.out));
    if (!cli.out.json && run.attempts.length > 1) {
      cli.out.raw('');
      cli.out.list(run.attempts, runColumns(cli.out).slice(1), { empty: '' });
    }
    return undefined;
  },
});
