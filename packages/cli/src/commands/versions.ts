/** `jobs versions` and `jobs restore`: who changed a job, and an earlier version of it brought back. */
import type { JobVersion } from '@carillon/client';
import { type CommandSpec, command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { count, LIMIT, toggle, YES } from '../flags.ts';
import { countOf, plainText } from '../output/text.ts';
import { isConfirmed, pageSize, readLimited } from './actions.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const JOB_ID = { name: '<job>', description: 'Key, name or id of the job', names: 'job' } as const;

export const versionCommands: readonly CommandSpec[] = [
  command('jobs versions', 'List who changed a job, when, and what', {
    details: 'The newest first. `carillon jobs restore` brings one back.',
    arguments: [JOB_ID],
    options: { limit: LIMIT },
    examples: [`carillon jobs versions ${JOB}`],
    async run({ args: [id = ''], options: { limit }, cli }) {
      const client = await cli.client();
      const list = client.jobs.versions(id, { limit: pageSize(limit) });
      const versions = await readLimited(list, limit, cli.out);
      cli.out.list(
        versions,
        [
          {
            header: 'VERSION',
            value: ({ version }) => (version === null ? '' : String(version)),
            fixed: true,
          },
          { header: 'AT', value: ({ at }) => cli.out.shortTime(at), fixed: true },
          { header: 'BY', value: ({ actor }) => actor.name },
          { header: 'ACTION', value: actionWord },
          { header: 'CHANGES', value: changedFields },
        ],
        { empty: 'No change is recorded.' },
      );
    },
  }),
  command('jobs restore', 'Bring back an earlier version of a job', {
    details:
      'As a new version: `carillon jobs versions` lists them. Whether the job is paused stays as it is. Credentials are not kept with versions: what the job has now stays at its place, and is missing where it has none. A one-off whose time has passed runs at once.',
    arguments: [JOB_ID],
    options: {
      to: count('--to <version>', 'The number of the version'),
      dryRun: toggle('--dry-run', 'Only show what would change'),
      yes: YES,
    },
    examples: [`carillon jobs restore ${JOB} --to 2 --dry-run`, `carillon jobs restore ${JOB} --to 2 --yes`],
    async run({ args: [id = ''], options: { to, dryRun = false, yes }, cli }) {
      if (to === undefined || to === 0)
        throw new UsageError(
          'Say which version is meant.',
          `Such as --to 1; \`carillon jobs versions ${id}\` lists them.`,
        );
      const { out } = cli;
      const client = await cli.client();
      const planned = await client.jobs.restore(id, to, { dryRun: true });
      if (planned.outcome === 'unchanged') return out.done(planned, `${id} is as it was in version ${to}`);
      if (!out.json)
        for (const { field, before, after } of planned.changes)
          out.raw(plainText(`${field}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`));
      for (const field of planned.not_recorded) {
        if (isThere(planned, field)) out.note(`${field} is not recorded, and stays as the job has it now.`);
        else out.warn(`${field} is not recorded, and will be missing: set it with \`carillon jobs update\`.`);
      }
      const { schedule_time: at, changes } = planned;
      const isMoved = changes.some(({ field }) => field === 'schedule_time');
      if (isMoved && at !== null && Date.parse(at) <= Date.now()) out.warn(`${at} has passed: it runs now.`);
      if (dryRun) return out.done(planned, `${countOf(planned.changes.length, 'field')} would change`);
      const question = `Bring back version ${to} of ${planned.name}?`;
      if (!(await isConfirmed(cli, { yes, question }))) return;
      // What was looked at is what is changed.
      const restored = await client.jobs.restore(id, to, { ifVersion: planned.version - 1 });
      return out.done(restored, `Restored version ${to} of ${id}; it is version ${restored.version} now`);
    },
  }),
];

/** path: such as payload.headers.authorization. */
function isThere(job: object, path: string): boolean {
  let value: unknown = job;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return false;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value !== undefined;
}

function actionWord({ action, restored_version: restored }: JobVersion): string {
  const word = action.replace(/^jobs\./, '');
  return restored === null ? word : `${word} of version ${restored}`;
}

function changedFields({ action, changes }: JobVersion): string {
  return action === 'jobs.create' ? '' : changes.map(({ field }) => field).join(' ');
}
