/** The settings of what runs write, answer and leave: where it is kept, for how long, and how much of it. */
import { z } from 'zod';

const integer = (min: number, max: number) => z.int().min(min).max(max);

export const logSettings = z
  .strictObject({
    folder: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Folder that all servers share, for what runs write. Left out: logs in the data folder, each server its own.',
      ),
    retention_days: integer(1, 36_500).default(30).describe('Days that what runs wrote is kept.'),
    result_max_mb: integer(1, 1_024)
      .default(64)
      .describe('MiB that one result may have. Those above 64 KiB are kept beside the logs.'),
    artifacts_max_mb: integer(0, 1_024)
      .default(100)
      .describe('MiB that the files of one attempt may have in all. 0: no files are kept.'),
    reserve_mb: integer(0, 1_048_576)
      .optional()
      .describe(
        'MiB of their disk that logs, large results and files of runs leave free, for the database and others. Left out: 1024, or a quarter of a disk that is smaller than 4 GiB.',
      ),
    s3: z
      .strictObject({
        bucket: z
          .string()
          .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { error: 'must be the name of a bucket' })
          .optional()
          .describe(
            'Bucket of an S3-compatible store for what runs write, which all servers share. Left out: files. See docs/logs.md.',
          ),
        endpoint: z
          .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
          .optional()
          .describe('Address of the store. Left out: that of AWS in the region.'),
        region: z
          .string()
          .regex(/^[\w-]{1,64}$/, { error: 'must be the name of a region' })
          .default('us-east-1')
          .describe('Region of the bucket.'),
        prefix: z
          .string()
          .regex(/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/, {
            error: 'must be names with letters, digits and . _ -, separated by /',
          })
          .default('carillon-logs')
          .describe('What the names of all objects begin with.'),
        access_key_id: z
          .string()
          .min(1)
          .optional()
          .describe('Id of the key for the store. Left out: the variable AWS_ACCESS_KEY_ID.'),
        secret_access_key_file: z
          .string()
          .min(1)
          .optional()
          .describe(
            'File with the secret of the key for the store. Left out: the variable AWS_SECRET_ACCESS_KEY.',
          ),
      })
      .prefault({}),
  })
  .superRefine(({ folder, s3 }, { addIssue }) => {
    const demand = (path: string[], message: string) => addIssue({ code: 'custom', path, message });
    if (s3.bucket === undefined && s3.endpoint !== undefined)
      demand(['s3', 'bucket'], 'must be given, since logs.s3.endpoint is');
    if (s3.bucket !== undefined && folder !== undefined)
      demand(['folder'], 'must be left out, since logs.s3.bucket is given');
    if ((s3.access_key_id === undefined) !== (s3.secret_access_key_file === undefined))
      demand(['s3', 'access_key_id'], 'must be given together with logs.s3.secret_access_key_file');
  })
  .prefault({});
