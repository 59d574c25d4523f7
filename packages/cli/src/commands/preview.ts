/** `preview`: what a schedule will do, before any job has it. */
import { command } from '../command.ts';
import { UsageError } from '../program/usage-error.ts';
import { readCount } from '../read/read-number.ts';

interface Options {
  readonly every?: string;
  readonly tz?: string;
  readonly after?: string;
  readonly startAt?: string;
  readonly endAt?: string;
  readonly count: string;
}

export const preview = command<Options>({
  name: 'preview',
  summary: 'Show when a schedule fires',
  details: 'In words and times, with what daylight saving does to it. Nothing is stored.',
  arguments: [{ name: '[cron]', description: 'Cron expression: 5 fields, or 6 with seconds first' }],
  options: [
    { flags: '--every <interval>', description: 'An interval instead: 15m, 6h, 1d' },
    { flags: '--tz <zone>', description: 'Time zone of the schedule [UTC]' },
    { flags: '--after <time>', description: 'Count from here [now]' },
    { flags: '--start-at <time>', description: 'No occurrence before' },
    { flags: '--end-at <time>', description: 'No occurrence after' },
    { flags: '-n, --count <count>', description: 'How many', fallback: '5' },
  ],
  examples: [
    "carillon preview '0 9 * * 1-5' --tz Europe/Paris",
    'carillon preview --every 6h -n 10',
    "carillon preview '30 2 * * *' --tz America/New_York --after 2030-03-09T00:00:00Z",
  ],
  async run({ args: [cron], options, cli }) {
    if ((cron === undefined) === (options.every === undefined))
      throw new UsageError('Give a cron expression, or an interval with --every.');
    const { every, tz, after, startAt, endAt } = options;
    const client = await cli.client();
    const seen = await client.schedules.preview({
      ...(cron !== undefined && { cron_expression: cron }),
      ...(every !== undefined && { interval: every }),
      ...(tz !== undefined && { time_zone: tz }),
      ...(after !== undefined && { after }),
      ...(startAt !== undefined && { start_at: startAt }),
      ...(endAt !== undefined && { end_at: endAt }),
      count: readCount(options.count, '--count') ?? 5,
    });
    const { out } = cli;
    if (out.json) return out.done(seen, '');
    out.raw(seen.description);
    out.raw('');
    out.list(
      seen.fires,
      [
        { header: `AT ${seen.time_zone}`, value: ({ local }) => local, fixed: true },
        { header: 'HERE', value: ({ at }) => out.shortTime(at), fixed: true },
      ],
      { empty: 'It never fires.' },
    );
    for (const { message } of seen.warnings) out.warn(message);
  },
});
