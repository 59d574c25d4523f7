/**
 * What changed between two versions of a job, under the names that the interface has for it and by the deepest of them: versions are
 * recorded as the server keeps a job. Pure.
 */
import type { Json } from '@carillon/client';
import { formatInterval } from '@carillon/domain';
import { type Body, changesOf, type FieldChange, isObject, withValue } from '../edit-job/job-body.ts';

interface RecordedChange {
  readonly field: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export function recordedChanges(changes: readonly RecordedChange[]): readonly FieldChange[] {
  const side = (of: 'before' | 'after') =>
    changes.reduce<Body>(
      (body, change) => withField(body, change.field, (change[of] ?? undefined) as Json),
      {},
    );
  return changesOf(side('before'), side('after'));
}

/** Members whose name in the interface is another one. */
const NAMES: Readonly<Record<string, string>> = {
  'schedule.type': 'schedule_type',
  'schedule.expression': 'cron_expression',
  'schedule.zone': 'time_zone',
  'schedule.at': 'schedule_time',
  'schedule.anchor_at': 'schedule_time',
  'schedule.start_at': 'start_at',
  'schedule.end_at': 'end_at',
  'schedule.spread_seconds': 'spread_seconds',
  'schedule.interval': 'interval',
  'schedule.daylight_saving': 'daylight_saving',
  'misfire.kind': 'misfire.policy',
  'retry.max_retries': 'max_retries',
  'retry.delay_ms_max': 'retry.max_delay_seconds',
};

const NESTED = new Set(['schedule', 'misfire', 'retry']);

function withField(body: Body, field: string, value: Json | undefined): Body {
  if (!NESTED.has(field) || !isObject(value)) return { ...body, [field]: value };
  return Object.entries(value).reduce((sum, [member, inner]) => {
    const recorded = `${field}.${member}`;
    return withValue(sum, NAMES[recorded] ?? recorded, givenAs(recorded, inner) ?? undefined);
  }, body);
}

function givenAs(recorded: string, value: Json): Json {
  if (recorded === 'retry.delay_ms_max' && typeof value === 'number') return value / 1_000;
  if (recorded === 'schedule.interval' && isObject(value)) return intervalText(value) ?? value;
  return value;
}

function intervalText({ kind, every_seconds: seconds, unit, every }: Readonly<Record<string, Json>>) {
  if (kind === 'exact' && typeof seconds === 'number')
    return formatInterval({ kind, everyMs: seconds * 1_000 });
  if (
    kind === 'calendar' &&
    typeof every === 'number' &&
    (unit === 'day' || unit === 'week' || unit === 'month')
  )
    return formatInterval({ kind, unit, every });
  return undefined;
}
