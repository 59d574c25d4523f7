/** `events`: what happens, as it happens. */
import type { CarillonEvent } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { plainText } from '../output/plain-text.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

interface Options {
  readonly follow?: boolean;
  readonly type?: readonly string[];
  readonly job?: string;
  readonly run?: string;
  readonly namespace?: string;
  readonly handler?: string;
  readonly after?: string;
  readonly limit: string;
}

export const events = command<Options>({
  name: 'events',
  summary: 'Show what happens',
  details:
    'Without -f what has happened and is still kept, oldest first. With -f as it happens, until Ctrl-C; a broken connection is taken up again where it broke.',
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
    { flags: '--after <event>', description: 'Continue after the event with this id' },
    LIMIT_OPTION,
  ],
  examples: ['carillon events -f', 'carillon events -f --type run.failed --json', 'carillon events -n 20'],
  async run({ options, cli }) {
    const client = await cli.client();
    const filter = {
      type: options.type?.map(kindOf),
      job_id: options.job,
      run_id: options.run,
      namespace: options.namespace,
      handler: options.handler,
      lastEventId: options.after,
    };
    if (!options.follow) {
      const list = client.events.list({ ...filter, limit: pageSize(options.limit) });
      const shown = await readLimited(list, options.limit, cli.out);
      for (const event of shown) show(event, cli);
      if (shown.length === 0) cli.out.note('Nothing has happened; -f waits for it.');
      return;
    }
    const signal = cli.untilInterrupted();
    for await (const event of client.events.stream({ ...filter, signal })) show(event, cli);
  },
});

/** The long form is the wire's, the short one is for people. */
function kindOf(kind: string): string {
  return kind.startsWith('io.carillon.') ? kind : `io.carillon.${kind}`;
}

function show(event: CarillonEvent, { out }: Cli): void {
  const kind = event.type.replace(/^io\.carillon\./, '');
  const { data } = event;
  const named = typeof data.name === 'string' ? data.name : data.job_name;
  const why = data.error_message ?? data.reason;
  const parts = [named, event.subject, why].filter((part) => typeof part === 'string' && part !== '');
  out.entry(
    event,
    `${out.paint.dim(out.time(event.time))}  ${kindPaint(kind, out)}  ${plainText(parts.join('  '))}`,
  );
}

function kindPaint(kind: string, { paint }: Cli['out']): string {
  const padded = kind.padEnd(17);
  if (/failed|timed_out|dead|lost/.test(kind)) return paint.red(padded);
  if (/succeeded|joined/.test(kind)) return paint.green(padded);
  return /cancelled|paused|retrying|skipped/.test(kind) ? paint.yellow(padded) : padded;
}
