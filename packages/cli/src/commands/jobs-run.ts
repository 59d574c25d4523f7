/** `jobs run`: a run at once, beside the schedule. */
import { command } from '../command.ts';
import { watchRun } from './watch-run.ts';

export const jobsRun = command<{ readonly wait?: boolean; readonly idempotencyKey?: string }>({
  name: 'jobs run',
  summary: 'Run a job at once',
  details: 'Also when it is paused: a pause stops the schedule, not the person.',
  arguments: [{ name: '<id>', description: 'Id of the job' }],
  options: [
    { flags: '-w, --wait', description: 'Wait for the run to end; fails when it fails' },
    { flags: '--idempotency-key <key>', description: 'The same key again answers the same run' },
  ],
  examples: [
    'carillon jobs run 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
    'carillon jobs run 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --wait',
  ],
  async run({ args: [id = ''], options, cli }) {
    const client = await cli.client();
    const added = await client.jobs.runNow(id, { idempotencyKey: options.idempotencyKey });
    if (options.wait) return watchRun(cli, added.run_id);
    cli.out.done(added, `Started run ${added.run_id}`);
    return undefined;
  },
});
