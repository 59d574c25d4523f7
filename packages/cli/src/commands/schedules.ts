/** `preview`: when a schedule fires, before any job has it. */
import { command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { count, text, withDefault } from '../flags.ts';

export const preview = command('preview', 'Show when a schedule fires', {
  details: 'In words and times, with what daylight saving does to it. Nothing is stored.',
  arguments: [{ name: '[cron]', description: 'Cron expression: 5 fields, or 6 with seconds first' }],
  options: {
    interval: text('--every <interval>', 'An interval instead: 15m, 6h, 1d'),
    time_zone: text('--tz <zone>', 'Time zone of the schedule [UTC]'),
    after: text('--after <time>', 'Count from here [now]'),
    start_at: text('--start-at <time>', 'No occurrence before'),
    end_at: text('--end-at <time>', 'No occurrence after'),
    count: withDefault(count('-n, --count <count>', 'How many'), '5'),
  },
  examples: [
    "carillon preview '0 9 * * 1-5' --tz Europe/Paris",
    'carillon preview --every 6h -n 10',
    "carillon preview '30 2 * * *' --tz America/New_York --after 2030-03-09T00:00:00Z",
  ],
  async run({ args: [cron], options, cli }) {
    if ((cron === undefined) === (options.interval === undefined))
      throw new UsageError('Give a cron expression, or an interval with --every.');
    const client = await cli.client();
    const request = { ...options, ...(cron !== undefined && { cron_expression: cron }) };
    const answer = await client.schedules.preview(request);
    const { out } = cli;
    if (out.json) return out.done(answer, '');
    out.raw(answer.description);
    out.raw('');
    out.list(
      answer.fires,
      [
        { header: `AT ${answer.time_zone}`, value: (fire) => fire.local, fixed: true },
        { header: 'HERE', value: (fire) => out.shortTime(fire.at), fixed: true },
      ],
      { empty: 'It never fires.' },
    );
    for (const { message } of answer.warnings) out.warn(message);
  },
});
