/**
 * The columns of `jobs`, declared once: insert, update and select follow from this list. Columns of plain fields follow from
 * JOB_FIELDS, so that a new one needs a migration and nothing here. What is the default of a policy is stored as NULL: most rows
 * stay narrow.
 */
import {
  DEFAULT_MISFIRE,
  DEFAULT_RETRY,
  isRecurring,
  type Job,
  type NamedField,
  PLAIN_JOB_FIELDS,
  type PlainKind,
  plainFields,
  propertyReader,
  RETRY_FIELDS,
  type RetryPolicy,
  type SkippedFire,
} from '@carillon/domain';
import { priorityCode, priorityWord } from './codes.ts';
import { msOf, timestampOf } from './fragments.sql.ts';

export type Value = string | number | boolean | undefined;

export interface JobColumn {
  readonly name: string;
  readonly type: 'uuid' | 'text' | 'smallint' | 'int' | 'bigint' | 'boolean' | 'jsonb' | 'timestamptz';
  /** Of many values: words that need no quoting; any text; or lines, which are cheapest: no JSON text holds a line break. */
  readonly form: 'plain' | 'text' | 'lines';
  readonly of: (entry: { readonly job: Job }) => Value;
  /** It differs from job to job, where others are mostly alike. */
  readonly differs?: true;
  /** Never changed once it was inserted. */
  readonly fixed?: true;
  /** For people who read the table; no statement does. */
  readonly unread?: true;
  /** The property that it holds by itself. */
  readonly property?: string;
  /** The property from what was selected, where that is neither the value nor NULL for undefined. */
  readonly from?: (value: never) => unknown;
}

type Options = Partial<JobColumn>;
type Of = JobColumn['of'];

const plain = (name: string, type: JobColumn['type'], of: Of, options: Options = {}): JobColumn => ({
  name,
  type,
  form: 'plain',
  of,
  ...options,
});
const text = (name: string, of: Of, options: Options = {}): JobColumn =>
  plain(name, 'text', of, { form: 'text', ...options });
const json = (name: string, of: Of, options: Options = {}): JobColumn =>
  plain(name, 'jsonb', of, { form: 'text', ...options });

const TYPES: Record<PlainKind, { readonly type: JobColumn['type']; readonly form: JobColumn['form'] }> = {
  text: { type: 'text', form: 'text' },
  integer: { type: 'int', form: 'plain' },
  seconds: { type: 'bigint', form: 'plain' },
  flag: { type: 'boolean', form: 'plain' },
  word: { type: 'text', form: 'plain' },
  texts: { type: 'jsonb', form: 'text' },
  numbers: { type: 'jsonb', form: 'text' },
};

/** Plain fields that are stored in a form of their own. */
const STORED_OTHERWISE: Partial<Record<string, Options>> = {
  priority: { type: 'smallint', of: ({ job }) => priorityCode(job.priority), from: priorityWord },
};

function columnOf({ wire, property, field }: NamedField): JobColumn {
  const { kind, fallback } = field;
  const read = propertyReader(property) as (job: Job) => Value;
  const map: Options = {
    of: ({ job }) => (read(job) === fallback ? undefined : JSON.stringify(read(job))),
    from: (stored: string | null) => (stored === null ? fallback : JSON.parse(stored)),
  };
  return {
    name: kind === 'seconds' ? wire.replace(/_seconds$/, '_ms') : wire,
    ...TYPES[kind],
    of: ({ job }) => read(job),
    property,
    // NULL in jobs from before the column was there.
    from: (stored: unknown) => stored ?? fallback,
    ...(TYPES[kind].type === 'jsonb' && map),
    ...STORED_OTHERWISE[property],
  };
}

/** The id comes first, then the name: lists tell by it that a row is no job. */
export const JOB_COLUMNS: readonly JobColumn[] = [
  plain('job_id', 'uuid', ({ job }) => job.jobId, { property: 'jobId', differs: true, fixed: true }),
  text('name', ({ job }) => job.name, { property: 'name', differs: true }),
  json('payload', ({ job }) => job.payload, { property: 'payload', differs: true, form: 'lines' }),
  plain('shard', 'smallint', ({ job }) => job.shard, { property: 'shard', differs: true, fixed: true }),
  plain(
    'schedule_time',
    'timestamptz',
    ({ job: { schedule } }) => (schedule.type === 'FUTURE' ? schedule.atMs : undefined),
    { differs: true },
  ),
  plain('schedule_type', 'text', ({ job }) => job.schedule.type),
  plain('status', 'text', ({ job }) => job.status, { property: 'status' }),
  text(
    'cron_expression',
    ({ job: { schedule } }) => (schedule.type === 'CRON' ? schedule.expression : undefined),
    { unread: true },
  ),
  text('time_zone', ({ job: { schedule } }) => (isRecurring(schedule) ? schedule.zone : undefined), {
    unread: true,
  }),
  json('schedule', ({ job: { schedule } }) => (isRecurring(schedule) ? JSON.stringify(schedule) : undefined)),
  json('misfire', ({ job: { misfire } }) =>
    misfire === DEFAULT_MISFIRE ? undefined : JSON.stringify(misfire),
  ),
  text('handler', ({ job }) => job.handler, { property: 'handler' }),
  plain('max_retries', 'int', ({ job }) => job.retry.maxRetries),
  json('retry', ({ job: { retry } }) =>
    isDefaultRetry(retry) ? undefined : JSON.stringify({ ...retry, maxRetries: undefined }),
  ),
  plain('created_at', 'timestamptz', ({ job }) => job.createdAtMs, {
    property: 'createdAtMs',
    from: Math.round,
    differs: true,
    fixed: true,
  }),
  plain('updated_at', 'timestamptz', ({ job }) => job.updatedAtMs, {
    property: 'updatedAtMs',
    from: Math.round,
    differs: true,
  }),
  plain('version', 'int', ({ job }) => job.version, { property: 'version' }),
  text('namespace', ({ job }) => job.namespace, { property: 'namespace', fixed: true }),
  json('skips', ({ job: { skips } }) => (skips?.length ? JSON.stringify(skips) : undefined), {
    property: 'skips',
    from: skipsFrom,
  }),
  ...PLAIN_JOB_FIELDS.map(columnOf),
];

export function skipsFrom(text: string | null): readonly SkippedFire[] | undefined {
  return text === null ? undefined : (JSON.parse(text) as readonly SkippedFire[]);
}

const RETRY_MEMBERS = plainFields(RETRY_FIELDS).map(({ property }) => property as keyof RetryPolicy);

function isDefaultRetry(retry: RetryPolicy): boolean {
  return retry === DEFAULT_RETRY || RETRY_MEMBERS.every((member) => retry[member] === DEFAULT_RETRY[member]);
}

/** As values are sent: instants in milliseconds, JSON as text. */
export function sentType({ type }: Pick<JobColumn, 'type'>): string {
  if (type === 'jsonb') return 'text';
  return type === 'timestamptz' ? 'bigint' : type;
}

/** What was sent, as the table stores it. */
export function stored({ type }: JobColumn, sent: string): string {
  if (type === 'jsonb') return `${sent}::jsonb`;
  return type === 'timestamptz' ? timestampOf(sent) : sent;
}

/** The column of a job j, as rows are read. */
export function selected({ name, type }: JobColumn): string {
  if (type === 'jsonb') return `j.${name}::text`;
  return type === 'timestamptz' ? msOf(`j.${name}`) : `j.${name}`;
}
