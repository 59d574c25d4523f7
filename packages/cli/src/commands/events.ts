/** `events`: what happens, as it happens. */
import type { CarillonEvent, EventFilter } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { plainText } from '../output/plain-text.ts';
import { cut } from '../output/table.ts';
import { EXIT } from '../program/exit-codes.ts';
import { UsageError } from '../program/usage-error.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';
import { readCount } from '../read/read-number.ts';
import { readPastTime } from '../read/read-past-time.ts';

interface Options {
  readonly follow?: boolean;
  readonly type?: readonly string[];
  readonly job?: string;
  readonly run?: string;
  readonly namespace?: string;
  readonly handler?: string;
  readonly since?: string;
  readonly after?: string;
  readonly limit: string;
}

export const events = command<Options>({
  name: 'events',
  summary: 'Show what happens',
  details:
    'Without -f the latest of what has happened, the newest last; events are kept for some days. With -f as it happens, ' +
    'until Ctrl-C; a broken connection is taken up again where it broke.',
  options: [
    { flags: '-f, --follow', description: 'Go on until Ctrl-C' },
    {
      flags: '--type <kind>',
      description: 'Such as run.failed, or run for all of runs; may be repeated',
      repeatable: true,
    },
    { flags: '--job <id>', description: 'About this job' },
    { flags: '--run <id>', description: 'About this run' },
    { flags: '--namespace <name>', description: 'In this namespace' },
    { flags: '--handler <name>', description: 'Of jobs with this handler' },
    { flags: '--since <time>', description: 'None before: 15m, 2h, 1d (ago), or a time in ISO 8601' },
    { flags: '--after <event>', description: 'Those after the event with this id, the oldest first' },
    LIMIT_OPTION,
  ],
  examples: [
    'carillon events -f',
    'carillon events -f --type run.failed --json',
    'carillon events -n 20',
    'carillon events --since 1h --type run.failed',
  ],
  async run({ options, cli }) {
    const client = await cli.client();
    const filter = {
      type: options.type?.map(kindOf),
      job_id: options.job,
      run_id: options.run,
      namespace: options.namespace,
      handler: options.handler,
    };
    if (options.since !== undefined && options.after !== undefined)
      throw new UsageError('--since and --after both say where to begin: give one of them.');
    const since = options.since === undefined ? undefined : readPastTime(options.since, '--since');
    const signal = cli.untilInterrupted();
    let lastEventId = options.after;
    if (!options.follow || since) {
      const earlier = await readEarlier(cli, { filter, since, options });
      for (const event of earlier.events) show(event, cli);
      if (!options.follow) {
        if (earlier.events.length === 0) cli.out.note('No events match; -f waits for them.');
        return EXIT.ok;
      }
      lastEventId = earlier.lastEventId;
    }
    for await (const event of client.events.stream({ ...filter, lastEventId, signal })) show(event, cli);
    return EXIT.interrupted;
  },
});

interface Earlier {
  readonly filter: EventFilter;
  readonly since: Date | undefined;
  readonly options: Options;
}

/** What has happened: the latest, or all of it from the oldest on, or what came after one event. */
async function readEarlier(
  cli: Cli,
  { filter, since, options: { after, limit } }: Earlier,
): Promise<{ events: readonly CarillonEvent[]; lastEventId?: string }> {
  const client = await cli.client();
  const count = readCount(limit, '--limit') ?? 0;
  if (after !== undefined || (count === 0 && !since)) {
    const list = client.events.list({ ...filter, lastEventId: after, limit: pageSize(limit) });
    return { events: await readLimited(list, limit, cli.out) };
  }
  const latest = await client.events.latest({
    ...filter,
    since,
    signal: cli.untilInterrupted(),
    count: count || Number.MAX_SAFE_INTEGER,
  });
  if (latest.hasMore) cli.out.note(`There are older ones: -n ${count * 2}, or -n 0 for all.`);
  return latest;
}

/** The long form is the wire's, the short one is for people. */
function kindOf(kind: string): string {
  return kind.startsWith('io.carillon.') ? kind : `io.carillon.${kind}`;
}

function show(event: CarillonEvent, { out }: Cli): void {
  const kind = event.type.replace(/^io\.carillon\./, '');
  const { data } = event;
  const named = typeof data.name === 'string' ? data.name : data.job_name;
  const why = data.error_message ?? data.reason;
  // What it is about can be copied whole; the rest gives way where the terminal is narrow.
  const id = event.subject?.replace(/^\w+\//, '');
  const parts = [id, named, why].filter((part) => typeof part === 'string' && part !== '');
  const at = out.moment(event.time);
  const room = (out.width ?? Number.POSITIVE_INFINITY) - at.length - kindWidth(kind) - 4;
  const text = cut(plainText(parts.join('  ')), Math.max(room, id?.length ?? 0));
  out.entry(event, `${out.paint.dim(at)}  ${kindPaint(kind, out)}  ${text}`);
}

function kindWidth(kind: string): number {
  return Math.max(kind.length, 17);
}

function kindPaint(kind: string, { paint }: Cli['out']): string {
  const padded = kind.padEnd(kindWidth(kind));
  if (/failed|timed_out|dead|lost/.test(kind)) return paint.red(padded);
  if (/succeeded|joined/.test(kind)) return paint.green(padded);
  return /cancelled|paused|retrying|skipped/.test(kind) ? paint.yellow(padded) : padded;
}
