/**
 * The schedule of a job request: its type is given or inferred, contradictions are refused, and what is accepted has an
 * occurrence ahead. In a change, fields that are not named stay; where they no longer fit, the named ones win.
 */
import { refuseValue } from '../errors/refusal.ts';
import {
  DAYLIGHT_SAVING_FIELDS,
  type DaylightSavingPolicy,
  DEFAULT_DAYLIGHT_SAVING,
  frequencyToInterval,
  type Interval,
  type IntervalSchedule,
  isRecurring,
  nextFire,
  parseCron,
  parseInstant,
  parseInterval,
  parseZone,
  type RecurringSchedule,
  type Schedule,
  type ScheduleType,
} from '../schedule/index.ts';
import { readSeconds } from './define-job-values.ts';
import { camelCase, type InstantInput, plainFields, readFields } from './field-kinds.ts';
import type { ScheduleInput } from './job.ts';
import { SCHEDULE_FIELDS } from './job-fields.ts';

type ScheduleField = Exclude<keyof ScheduleInput, 'scheduleType'>;

/** The names of the fields as the caller knows them. */
const NAMES = Object.fromEntries(
  Object.keys(SCHEDULE_FIELDS).map((wire) => [camelCase(wire), wire]),
) as Record<keyof ScheduleInput, string>;
const FIELDS = Object.keys(NAMES).filter((field): field is ScheduleField => field !== 'scheduleType');
const DAYLIGHT_SAVING_MEMBERS = plainFields(DAYLIGHT_SAVING_FIELDS, 'daylight_saving');
const SPREAD_SECONDS_MAX = 86_400;
const RULES = ['cronExpression', 'interval', 'frequency'] as const;

const RECURRING_FIELDS: readonly ScheduleField[] = [
  'timeZone',
  'startAt',
  'endAt',
  'daylightSaving',
  'spreadSeconds',
];
const FITTING: Record<ScheduleType, readonly ScheduleField[]> = {
  IMMEDIATE: [],
  FUTURE: ['scheduleTime', 'timeZone'],
  CRON: ['cronExpression', ...RECURRING_FIELDS],
  INTERVAL: ['interval', 'frequency', 'scheduleTime', ...RECURRING_FIELDS],
};

const IMMEDIATE: Schedule = { type: 'IMMEDIATE' };

interface Context {
  readonly current: Schedule | undefined;
  readonly nowMs: number;
  /**
   * The job whose definition is replaced: what is left out returns to its default. An interval is counted from when the job was
   * made, so that the same definition always means the same schedule.
   */
  readonly replaces?: { readonly schedule: Schedule; readonly createdAtMs: number } | undefined;
}

export function readSchedule(input: ScheduleInput, context: Context): Schedule {
  const { current, nowMs } = context;
  if (current && !isGiven(input.scheduleType) && FIELDS.every((field) => input[field] === undefined))
    return current;
  const type = scheduleTypeOf(input, current);
  for (const field of FIELDS) {
    if (isGiven(input[field]) && !FITTING[type].includes(field)) refuseMisfit(NAMES[field], type);
  }
  const schedule = readAs(type, input, context);
  const known = current ?? context.replaces?.schedule;
  if (known && sameSchedule(schedule, known)) return known;
  if (isRecurring(schedule)) requireOccurrence(schedule, nowMs);
  return schedule;
}

/** Whether two schedules mean the same; the order in which their parts were stored is no difference. */
export function sameSchedule(one: Schedule, other: Schedule): boolean {
  return canonical(one) === canonical(other);
}

function scheduleTypeOf(input: ScheduleInput, current: Schedule | undefined): ScheduleType {
  let rule: (typeof RULES)[number] | undefined;
  for (const field of RULES) {
    if (!isGiven(input[field])) continue;
    if (rule) refuseConflict(NAMES[rule], NAMES[field]);
    rule = field;
  }
  const implied = rule && (rule === 'cronExpression' ? 'CRON' : 'INTERVAL');
  switch (input.scheduleType) {
    case 'ONE_TIME':
      if (rule) refuseMisfit(NAMES[rule], 'one-time');
      if (isGiven(input.scheduleTime)) return 'FUTURE';
      return current && !isRecurring(current) ? current.type : 'IMMEDIATE';
    case 'RECURRING':
      if (implied) return implied;
      if (current && isRecurring(current)) return current.type;
      return refuseValue(
        'frequency',
        'A recurring job needs cron_expression, interval or frequency.',
        'field_missing',
      );
    case null:
    case undefined:
      if (implied) return implied;
      if (isGiven(input.scheduleTime)) return current?.type === 'INTERVAL' ? 'INTERVAL' : 'FUTURE';
      return current?.type ?? 'IMMEDIATE';
    default:
      return input.scheduleType;
  }
}

function readAs(type: ScheduleType, input: ScheduleInput, context: Context): Schedule {
  switch (type) {
    case 'IMMEDIATE':
      return IMMEDIATE;
    case 'FUTURE':
      return { type, atMs: readFutureTime(input, context.current) };
    case 'CRON':
      return {
        type,
        expression: readExpression(input, context.current),
        ...readRecurring(input, context.current),
      };
    case 'INTERVAL':
      return readInterval(input, context);
  }
}

function readFutureTime(input: ScheduleInput, current: Schedule | undefined): number {
  if (isGiven(input.scheduleTime)) {
    return readInstant(input.scheduleTime, { field: 'schedule_time', zone: localZone(input, undefined) });
  }
  if (current?.type === 'FUTURE' && !isGiven(input.timeZone)) return current.atMs;
  return refuseValue('schedule_time', 'A job of type FUTURE needs schedule_time.', 'field_missing');
}

function readExpression(input: ScheduleInput, current: Schedule | undefined): string {
  const { cronExpression } = input;
  if (isGiven(cronExpression)) {
    const expression = cronExpression.trim();
    parseCron(expression, { field: 'cron_expression' });
    return expression;
  }
  if (current?.type === 'CRON') return current.expression;
  return refuseValue('cron_expression', 'A job of type CRON needs cron_expression.', 'field_missing');
}

function readInterval(input: ScheduleInput, { current, nowMs, replaces }: Context): IntervalSchedule {
  if (isGiven(input.scheduleTime) && isGiven(input.startAt)) refuseConflict('schedule_time', 'start_at');
  const recurring = readRecurring(input, current);
  const before = current?.type === 'INTERVAL' ? current : undefined;
  let anchorMs = before?.anchorMs ?? recurring.startMs ?? replaces?.createdAtMs ?? nowMs;
  if (isGiven(input.scheduleTime)) {
    const zone = localZone(input, before?.zone);
    anchorMs = readInstant(input.scheduleTime, { field: 'schedule_time', zone });
  } else if (isGiven(input.startAt) && recurring.startMs !== undefined) {
    anchorMs = recurring.startMs;
  }
  return { type: 'INTERVAL', interval: readRhythm(input, before), anchorMs, ...recurring };
}

function readRhythm(input: ScheduleInput, before: IntervalSchedule | undefined): Interval {
  const { interval, frequency } = input;
  if (isGiven(interval)) return parseInterval(interval, { field: 'interval' });
  if (isGiven(frequency)) return frequencyToInterval(frequency, { field: 'frequency' });
  if (before) return before.interval;
  return refuseValue('interval', 'A job of type INTERVAL needs interval or frequency.', 'field_missing');
}

function readRecurring(
  input: ScheduleInput,
  current: Schedule | undefined,
): Omit<RecurringSchedule, 'type' | 'expression' | 'interval' | 'anchorMs'> {
  const before = current && isRecurring(current) ? current : undefined;
  const zone = localZone(input, before?.zone);
  const readBound = (given: InstantInput | null | undefined, field: string, current?: number) =>
    givenOr<InstantInput, number | undefined>(given, {
      current,
      fallback: undefined,
      read: (input) => readInstant(input, { field, zone }),
    });
  const startMs = readBound(input.startAt, 'start_at', before?.startMs);
  const endMs = readBound(input.endAt, 'end_at', before?.endMs);
  return {
    zone: readZone(input, before?.zone),
    daylightSaving: readDaylightSaving(input, before?.daylightSaving),
    ...(startMs === undefined ? {} : { startMs }),
    ...(endMs === undefined ? {} : { endMs }),
    spreadMs: givenOr(input.spreadSeconds, {
      current: before?.spreadMs,
      fallback: 0,
      read: (seconds) => readSeconds(seconds, { field: 'spread_seconds', min: 0, max: SPREAD_SECONDS_MAX }),
    }),
  };
}

/** Left out: what it was before, else the default. null: the default. */
function givenOr<Input, Value>(
  given: Input | null | undefined,
  options: { current?: Value | undefined; fallback: Value; read: (input: Input) => Value },
): Value {
  if (given === undefined) return options.current ?? options.fallback;
  return given === null ? options.fallback : options.read(given);
}

function readZone(input: ScheduleInput, current: string | undefined): string {
  const read = (name: string) => parseZone(name, { field: 'time_zone' });
  return givenOr(input.timeZone, { current, fallback: 'UTC', read });
}

/** The zone in which times without an offset are meant; undefined when nobody named one, and they are refused. */
function localZone(input: ScheduleInput, current: string | undefined): string | undefined {
  return isGiven(input.timeZone) || current !== undefined ? readZone(input, current) : undefined;
}

function readDaylightSaving(
  input: ScheduleInput,
  current: DaylightSavingPolicy | undefined,
): DaylightSavingPolicy {
  if (input.daylightSaving === null) return DEFAULT_DAYLIGHT_SAVING;
  return readFields(DAYLIGHT_SAVING_MEMBERS, input.daylightSaving ?? {}, current ?? DEFAULT_DAYLIGHT_SAVING);
}

function readInstant(input: string | number, options: { field: string; zone: string | undefined }): number {
  const { field, zone } = options;
  return parseInstant(input, zone === undefined ? { field } : { field, zone });
}

function requireOccurrence(schedule: RecurringSchedule, nowMs: number): void {
  const { startMs, endMs } = schedule;
  if (startMs !== undefined && endMs !== undefined && endMs < startMs) {
    refuseValue('end_at', 'end_at lies before start_at.', 'schedule_never_fires');
  }
  if (nextFire(schedule, nowMs) !== undefined) return;
  const rule = schedule.type === 'CRON' ? 'cron_expression' : 'interval';
  const field = endMs === undefined ? rule : 'end_at';
  refuseValue(field, 'The schedule has no occurrence from now on.', 'schedule_never_fires');
}

function refuseMisfit(field: string, type: string): never {
  return refuseValue(field, `${field} does not go with a schedule of type ${type}.`, 'field_conflict');
}

function refuseConflict(field: string, other: string): never {
  return refuseValue(field, `${field} and ${other} cannot be given together.`, 'field_conflict');
}

function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

/** Neither the order of members nor those that are undefined make a difference. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
