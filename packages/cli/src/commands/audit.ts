/** `audit`: who changed what. */
import { command } from '../command.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

interface Options {
  readonly actor?: string;
  readonly action?: string;
  readonly subject?: string;
  readonly namespace?: string;
  readonly from?: string;
  readonly until?: string;
  readonly limit: string;
}

export const audit = command<Options>({
  name: 'audit',
  summary: 'Show who changed what, latest first',
  options: [
    { flags: '--actor <who>', description: 'Done by this user or key: name or id' },
    { flags: '--action <action>', description: 'Such as jobs.update' },
    { flags: '--subject <id>', description: 'Done to this job, run, user …' },
    { flags: '--namespace <name>', description: 'In this namespace' },
    { flags: '--from <time>', description: 'Not before' },
    { flags: '--until <time>', description: 'Before' },
    LIMIT_OPTION,
  ],
  examples: ['carillon audit', 'carillon audit --actor ada --action jobs.cancel --json'],
  async run({ options, cli }) {
    const client = await cli.client();
    const { actor, action, subject, namespace, from, until } = options;
    const filter = { actor, action, subject_id: subject, namespace, from, until };
    const list = client.audit.list({ ...filter, limit: pageSize(options.limit) });
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    cli.out.list(
      await readLimited(list, options.limit, cli.out),
      [
        { header: 'WHEN', value: (entry) => cli.out.briefTime(entry.at), fixed: true },
        { header: 'WHO', value: (entry) => entry.actor.name },
        { header: 'WHAT', value: (entry) => entry.action },
        { header: 'ON', value: (entry) => entry.subject.id, fixed: true },
        { header: 'NAMESPACE', value: (entry) => entry.namespace },
        { header: 'FROM', value: (entry) => entry.address },
      ],
      { empty: isFiltered ? 'No changes match.' : 'Nothing was changed yet.' },
    );
  },
});
