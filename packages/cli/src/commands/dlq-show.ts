/** `dlq show`: one run that failed for good. */
import { command } from '../command.ts';

export const dlqShow = command({
  name: 'dlq show',
  summary: 'Show a run that failed for good',
  arguments: [{ name: '<id>', description: 'Id of the run' }],
  examples: ['carillon dlq show 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5'],
  async run({ args: [id = ''], cli }) {
    const client = await cli.client();
    const letter = await client.deadLetters.get(id);
    cli.out.record(letter, [
      ['run', letter.run_id],
      ['job', letter.job_id],
      ['name', letter.job_name ?? undefined],
      ['reason', letter.reason],
      ['attempts', String(letter.attempts)],
      ['scheduled', cli.out.time(letter.scheduled_at)],
      ['died', cli.out.time(letter.died_at)],
      ['error', letter.error_message ?? undefined],
      ['sent again as', letter.redriven_as ?? undefined],
    ]);
  },
});
