/** `jobs bulk`: the same change to all jobs that match. Shows what it would do, and asks, before it does it. */
import type { BulkReport, BulkRequest, Priority } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { confirm } from '../output/ask.ts';
import { countOf } from '../output/count-of.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { EXIT } from '../program/exit-codes.ts';
import { UsageError } from '../program/usage-error.ts';
import { readLabels } from '../read/read-pairs.ts';

interface Options {
  readonly status?: string;
  readonly type?: string;
  readonly priority?: Priority;
  readonly user?: string;
  readonly namespace?: string;
  readonly label?: readonly string[];
  readonly handler?: string;
  readonly text?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const jobsBulk = command<Options>({
  name: 'jobs bulk',
  summary: 'Pause, resume or cancel all jobs that match',
  arguments: [{ name: '<action>', description: 'What to do', choices: ['pause', 'resume', 'cancel'] }],
  options: [
    { flags: '--status <status>', description: 'Jobs with this status' },
    { flags: '--type <type>', description: 'Kind of schedule: cron, interval, one-time, recurring …' },
    { flags: '--priority <level>', description: 'How urgent', choices: ['low', 'medium', 'high'] },
    { flags: '--user <id>', description: 'Whose jobs' },
    { flags: '--namespace <name>', description: 'In this namespace' },
    { flags: '--label <name=value>', description: 'With this label; may be repeated', repeatable: true },
    { flags: '--handler <name>', description: 'Run by this handler' },
    { flags: '--text <part>', description: 'Whose name contains this' },
    { flags: '--dry-run', description: 'Only show how many there are' },
    { flags: '-y, --yes', description: 'Do not ask' },
  ],
  examples: [
    'carillon jobs bulk pause --label team=billing --dry-run',
    'carillon jobs bulk cancel --namespace old --yes',
  ],
  async run({ args, options, cli }) {
    const action = args[0] as BulkRequest['action'];
    const filter = filterOf(options);
    if (Object.keys(filter).length === 0)
      throw new UsageError(
        'Say which jobs are meant.',
        'Such as --namespace staging, or --label team=billing.',
      );
    const seen = await workThrough(cli, { action, filter, dry_run: true });
    if (options.dryRun) {
      cli.out.done(seen, `Matching: ${countOf(seen.matched, 'job')}. Nothing was changed.`);
      return EXIT.ok;
    }
    const question = `${action.charAt(0).toUpperCase()}${action.slice(1)} ${countOf(seen.matched, 'job')}?`;
    if (!options.yes && !(await confirm(question, cli.world))) {
      cli.out.note('Nothing was changed.');
      return EXIT.ok;
    }
    const bar = new ProgressBar(seen.matched, cli.out.terminal);
    const report = await workThrough(cli, { action, filter, dry_run: false }, bar).finally(() => bar.end());
    cli.out.done(
      report,
      `${report.changed} of ${countOf(report.matched, 'job')} changed, ${report.refused} refused.`,
    );
    return report.refused > 0 ? EXIT.failed : EXIT.ok;
  },
});

/** The server takes a bounded number at a time: part by part until there is none left. */
async function workThrough(cli: Cli, request: BulkRequest, bar?: ProgressBar): Promise<BulkReport> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  let report = await client.jobs.bulk(request, { signal });
  bar?.advance(report.matched);
  while (report.next !== null) {
    const part = await client.jobs.bulk({ ...request, after: report.next }, { signal });
    bar?.advance(part.matched);
    report = {
      ...report,
      matched: report.matched + part.matched,
      changed: report.changed + part.changed,
      refused: report.refused + part.refused,
      next: part.next,
    };
  }
  return report;
}

function filterOf(options: Options): BulkRequest['filter'] {
  const { status, type, priority, user, namespace, label, handler, text } = options;
  const labels = label && readLabels(label);
  const filter = { status, type, priority, user_id: user, namespace, label: labels, handler, text };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}
