/** `runs rerun`: the job of a run that ended, once more. */
import { command } from '../command.ts';
import { watchRun } from './watch-run.ts';

export const runsRerun = command<{ readonly wait?: boolean }>({
  name: 'runs rerun',
  summary: 'Run again what has run',
  arguments: [{ name: '<id>', description: 'Id of a run that has ended' }],
  options: [{ flags: '-w, --wait', description: 'Wait for the new run to end; fails when it fails' }],
  examples: ['carillon runs rerun 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5 --wait'],
  async run({ args: [id = ''], options, cli }) {
    const client = await cli.client();
    const added = await client.runs.rerun(id);
    if (options.wait) return watchRun(cli, added.run_id);
    cli.out.done(added, `Started run ${added.run_id}`);
    return undefined;
  },
});
