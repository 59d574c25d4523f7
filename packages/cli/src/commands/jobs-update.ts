/** `jobs update`: changes what is named, leaves the rest. */
import { command } from '../command.ts';
import { UsageError } from '../program/usage-error.ts';
import { JOB_OPTIONS, type JobOptions, readJobOptions } from '../read/job-options.ts';
import { isObject, readJsonFile } from '../read/read-json.ts';
import { readCount } from '../read/read-number.ts';

interface Options extends JobOptions {
  readonly name?: string;
  readonly file?: string;
  readonly ifVersion?: string;
}

export const jobsUpdate = command<Options>({
  name: 'jobs update',
  summary: 'Change a job',
  details: 'Only what is given changes; null in a file brings back the default.',
  arguments: [{ name: '<id>', description: 'Id of the job' }],
  options: [
    { flags: '--name <name>', description: 'New name' },
    ...JOB_OPTIONS,
    { flags: '-f, --file <path>', description: 'Fields as JSON; - reads the standard input' },
    { flags: '--if-version <number>', description: 'Only when the job still has this version' },
  ],
  examples: [
    "carillon jobs update 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --cron '0 8 * * *'",
    'carillon jobs update 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --priority high --if-version 3',
  ],
  async run({ args: [id = ''], options, cli }) {
    const file = options.file === undefined ? {} : await readJsonFile(options.file, cli.world);
    if (!isObject(file)) throw new UsageError(`${options.file} must hold a JSON object.`);
    const change = {
      ...file,
      ...(await readJobOptions(options, cli.world)),
      ...(options.name !== undefined && { name: options.name }),
    };
    if (Object.keys(change).length === 0)
      throw new UsageError('Nothing to change was given.', 'Such as --priority high.');
    const client = await cli.client();
    const ifVersion = readCount(options.ifVersion, '--if-version');
    const updated = await client.jobs.update(id, change, { ifVersion });
    cli.out.done(updated, `Updated ${id}: version ${updated.version}`);
  },
});
