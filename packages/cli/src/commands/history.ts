/** `events`: what happens, as it happens. `audit`: who changed what. */
import type { AuditEntry, CarillonEvent, EventFilter } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { IN_NAMESPACE, LIMIT, pastInstant, text, texts, toggle } from '../flags.ts';
import type { Output } from '../output/output.ts';
import { type Column, cut } from '../output/table.ts';
import { plainText } from '../output/text.ts';
import { shortIds } from '../resolve.ts';
import { listCommand, pageSize, readLimited } from './actions.ts';

const TYPE_PREFIX = 'io.carillon.';

export const events = command('events', 'Show what happens', {
  details:
    'Without -f the latest of what has happened, the newest last; events are kept for some days. With -f as it happens, ' +
    'until Ctrl-C; a broken connection is taken up again where it broke.',
  options: {
    follow: toggle('-f, --follow', 'Go on until Ctrl-C'),
    type: texts('--type <kind>', 'Such as run.failed, or run for all of runs; may be repeated'),
    job_id: text('--job <job>', 'About this job'),
    run_id: text('--run <id>', 'About this run'),
    namespace: IN_NAMESPACE,
    handler: text('--handler <name>', 'Of jobs with this handler'),
    since: pastInstant('--since <time>', 'None before: 15m, 2h, 1d (ago), or a time in ISO 8601'),
    after: text('--after <event>', 'Those after the event with this id, the oldest first', 'last_event_id'),
    limit: LIMIT,
  },
  examples: [
    'carillon events -f',
    'carillon events -f --type run.failed --json',
    'carillon events -n 20',
    'carillon events --since 1h --type run.failed',
  ],
  async run({ options: { follow, type, since, after, limit, ...rest }, cli }) {
    if (since !== undefined && after !== undefined)
      throw new UsageError('--since and --after both say where to begin: give one of them.');
    const client = await cli.client();
    const filter = { ...rest, type: type?.map(fullType) };
    let lastEventId = after;
    if (!follow || since) {
      const stored = await readStored(cli, filter, { since, after, limit });
      for (const event of stored.events) showEvent(event, cli);
      if (!follow) {
        if (stored.events.length === 0) cli.out.note('No events match; -f waits for them.');
        return EXIT.ok;
      }
      lastEventId = stored.lastEventId;
    }
    const stream = client.events.stream({ ...filter, lastEventId, signal: cli.untilInterrupted() });
    for await (const event of stream) showEvent(event, cli);
    return EXIT.interrupted;
  },
});

/** People write `run.failed`; the API writes `io.carillon.run.failed`. */
function fullType(type: string): string {
  return type.startsWith(TYPE_PREFIX) ? type : `${TYPE_PREFIX}${type}`;
}

/** Events that have happened: the latest, or all from the oldest on, or those after one event. */
async function readStored(
  cli: Cli,
  filter: EventFilter,
  { since, after, limit }: { since: Date | undefined; after: string | undefined; limit: number },
): Promise<{ events: readonly CarillonEvent[]; lastEventId?: string }> {
  const client = await cli.client();
  if (after !== undefined || (limit === 0 && !since)) {
    const list = client.events.list({ ...filter, lastEventId: after, limit: pageSize(limit) });
    return { events: await readLimited(list, limit, cli.out) };
  }
  const count = limit || Number.MAX_SAFE_INTEGER;
  const latest = await client.events.latest({ ...filter, since, count, signal: cli.untilInterrupted() });
  if (latest.hasMore) cli.out.note(`There are older ones: -n ${limit * 2}, or -n 0 for all.`);
  return latest;
}

function showEvent(event: CarillonEvent, { out }: Cli): void {
  const type = event.type.replace(TYPE_PREFIX, '').padEnd(17);
  const { name, job_name: jobName, error_message: error, reason } = event.data;
  const id = event.subject?.replace(/^\w+\//, '');
  const parts = [id, typeof name === 'string' ? name : jobName, error ?? reason];
  const facts = parts.filter((part) => typeof part === 'string' && part !== '').join('  ');
  const at = out.moment(event.time);
  // The id is never cut, so that it can be copied; the rest is cut to the width of the terminal.
  const left = (out.width ?? Number.POSITIVE_INFINITY) - at.length - type.length - 4;
  const shown = cut(plainText(facts), Math.max(left, id?.length ?? 0));
  out.entry(event, `${out.paint.dim(at)}  ${paintType(type, out)}  ${shown}`);
}

function paintType(type: string, { paint }: Cli['out']): string {
  if (/failed|timed_out|dead|lost/.test(type)) return paint.red(type);
  if (/succeeded|joined/.test(type)) return paint.green(type);
  return /cancelled|paused|retrying|skipped/.test(type) ? paint.yellow(type) : type;
}

/** A key of nobody may be called like a person; the admin key says what it is. */
function whoOf({ kind, id, name }: AuditEntry['actor']): string {
  return kind === 'key' && id !== 'admin' ? `key ${name}` : name;
}

/** Narrow terminals leave out first where it came from, and what it was done with before what it was done to. */
export function auditColumns(out: Pick<Output, 'briefTime' | 'width'>): readonly Column<AuditEntry>[] {
  return [
    { header: 'WHEN', value: (entry) => out.briefTime(entry.at), fixed: true, rank: 1 },
    { header: 'WHO', value: ({ actor }) => whoOf(actor), rank: 3 },
    { header: 'WITH', value: (entry) => entry.actor.via?.name ?? entry.actor.via?.kind, rank: 6 },
    { header: 'WHAT', value: (entry) => entry.action, rank: 2 },
    { header: 'ON', value: (entry) => onWhat(entry, out), rank: 4, usefulWidth: 16 },
    { header: 'NAMESPACE', value: (entry) => entry.namespace, rank: 5 },
    { header: 'FROM', value: (entry) => entry.address, rank: 7 },
  ];
}

/** By its name, if it is there or the entry tells it; else by its id, on a terminal by the beginning of it. */
function onWhat({ subject, before, after }: AuditEntry, { width }: Pick<Output, 'width'>): string {
  const told = [after, before].map((fields) => (fields as { readonly name?: unknown } | null)?.name);
  return subject.name ?? told.find((name) => typeof name === 'string') ?? idOn(subject.id, width);
}

function idOn(id: string, width: number | undefined): string {
  return width === undefined ? id : shortIds([id])(id);
}

export const audit = listCommand('audit', 'Show who changed what, latest first', {
  options: {
    actor: text('--actor <who>', 'Done by this user, or with this key or session: name or id'),
    action: text('--action <action>', 'Such as jobs.update'),
    subject: text('--subject <what>', 'Done to this job, run, user, key, secret …: name or id'),
    namespace: IN_NAMESPACE,
    from: text('--from <time>', 'Not before'),
    until: text('--until <time>', 'Before'),
  },
  examples: [
    'carillon audit',
    'carillon audit --actor ada --action jobs.cancel --json',
    'carillon audit --subject nightly',
  ],
  read: (client, { subject, ...query }) => client.audit.list({ ...query, subject_id: subject }),
  columns: auditColumns,
  empty: 'Nothing was changed yet.',
  noMatch: 'No changes match.',
});
