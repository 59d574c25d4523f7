/** `dlq redrive`: sends dead letters round again, named one by one or all that match. */
import type { RedriveManyReport, RedriveManyRequest } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { confirm } from '../output/ask.ts';
import { countOf } from '../output/count-of.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { EXIT } from '../program/exit-codes.ts';
import { UsageError } from '../program/usage-error.ts';
import { readCount } from '../read/read-number.ts';
import { forEachId } from './for-each-id.ts';

/** Of one request: as many as the server takes when they are only counted, fewer when somebody watches the work. */
export const PART_MAX = 1_000;
const WATCHED_PART_MAX = 100;

interface Options {
  readonly job?: string;
  readonly reason?: string;
  readonly namespace?: string;
  readonly all?: boolean;
  readonly limit?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const dlqRedrive = command<Options>({
  name: 'dlq redrive',
  summary: 'Send dead letters round again',
  arguments: [{ name: '[id...]', description: 'Ids of runs' }],
  options: [
    { flags: '--job <id>', description: 'All of this job' },
    { flags: '--reason <reason>', description: 'All given up for this reason' },
    { flags: '--namespace <name>', description: 'All in this namespace' },
    { flags: '--all', description: 'All there are' },
    { flags: '--limit <count>', description: 'At most so many' },
    { flags: '--dry-run', description: 'Only show how many there are' },
    { flags: '-y, --yes', description: 'Do not ask' },
  ],
  examples: [
    'carillon dlq redrive 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5',
    'carillon dlq redrive --job 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --dry-run',
    'carillon dlq redrive --all --limit 100 --yes',
  ],
  async run({ args, options, cli }) {
    const client = await cli.client();
    if (args.length === 0) return redriveMany(cli, options);
    return forEachId(cli, args, async (id) => {
      const answer = await client.deadLetters.redrive(id);
      return { answer, sentence: `Sent ${id} round again as ${answer.run_id}` };
    });
  },
});

async function redriveMany(cli: Cli, options: Options): Promise<number> {
  const { job, reason, namespace } = options;
  if (!options.all && !(job ?? reason ?? namespace))
    throw new UsageError('Say which dead letters are meant.', 'Ids, --job, --reason, --namespace or --all.');
  const max = readCount(options.limit, '--limit') ?? Number.POSITIVE_INFINITY;
  const filter = {
    ...(job !== undefined && { job_id: job }),
    ...(reason !== undefined && { reason }),
    ...(namespace !== undefined && { namespace }),
  };
  const seen = await workThrough(cli, { filter, dry_run: true }, { max });
  if (options.dryRun) {
    cli.out.done(seen, `Matching: ${countOf(seen.matched, 'dead letter')}. Nothing was changed.`);
    return EXIT.ok;
  }
  if (
    !options.yes &&
    !(await confirm(`Send ${countOf(seen.matched, 'dead letter')} round again?`, cli.world))
  ) {
    cli.out.note('Nothing was changed.');
    return EXIT.ok;
  }
  const bar = new ProgressBar(seen.matched, cli.out.terminal);
  const advance = cli.out.terminal && ((by: number) => bar.advance(by));
  const report = await workThrough(cli, { filter, dry_run: false }, { max, advance }).finally(() =>
    bar.end(),
  );
  cli.out.done(
    report,
    `${report.redriven} of ${report.matched} sent round again, ${report.refused} refused.`,
  );
  return report.refused > 0 ? EXIT.failed : EXIT.ok;
}

/** The server takes a bounded number at a time: part by part until there is none left, or as many as were asked for. */
async function workThrough(
  cli: Cli,
  request: RedriveManyRequest,
  { max, advance }: { max: number; advance?: ((by: number) => void) | undefined },
): Promise<RedriveManyReport> {
  const client = await cli.client();
  const partMax = advance ? WATCHED_PART_MAX : PART_MAX;
  const signal = cli.untilInterrupted();
  const part = (left: number) => ({ ...request, limit: Math.min(left, partMax) });
  let report = await client.deadLetters.redriveMany(part(max), { signal });
  advance?.(report.matched);
  while (report.next !== null && report.matched < max) {
    const next = { ...part(max - report.matched), before: report.next };
    const more = await client.deadLetters.redriveMany(next, { signal });
    advance?.(more.matched);
    report = {
      ...report,
      matched: report.matched + more.matched,
      redriven: report.redriven + more.redriven,
      refused: report.refused + more.refused,
      next: more.next,
    };
  }
  return report;
}
