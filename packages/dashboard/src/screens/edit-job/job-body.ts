/**
 * A job as the body of a request, which is the one state of the form and of the JSON beside it; what a change of it sends; and what
 * becomes of a change when somebody else changed the job meanwhile. Pure.
 */
import type { Job, JobFields, Json, ScheduleType } from '@carillon/client';

export type Body = { readonly [name: string]: Json | undefined };

/** In the order in which people read them. */
export const FIELDS = [
  ...(['name', 'key', 'namespace', 'user_id', 'handler', 'payload'] as const),
  ...([
    'cron_expression',
    'interval',
    'frequency',
    'schedule_time',
    'time_zone',
    'start_at',
    'end_at',
  ] as const),
  ...(['daylight_saving', 'spread_seconds', 'misfire', 'priority', 'max_retries', 'retry'] as const),
  ...([
    'timeout_seconds',
    'start_timeout_seconds',
    'max_concurrency',
    'overlap',
    'labels',
    'resources',
  ] as const),
] as const satisfies readonly (keyof JobFields)[];

/** Members of these that are left out of a change stay as they are, so that null must bring back the default. */
const NESTED: ReadonlySet<string> = new Set(['retry', 'misfire', 'daylight_saving']);
export const SCHEDULE_FIELDS = [
  ...['cron_expression', 'interval', 'frequency', 'schedule_time', 'time_zone', 'start_at', 'end_at'],
  ...['daylight_saving', 'spread_seconds'],
] as const;

/** What a request with this body would make again: nothing that another field already says. */
export function bodyOfJob(job: Job): Body {
  const found: Record<string, Json | undefined> = {};
  const values = job as unknown as Body;
  for (const field of FIELDS) {
    const value = values[field];
    if (value === null || value === undefined || isEmptyObject(value)) continue;
    found[field] = value;
  }
  // Another word for interval, and the two are refused together; so are schedule_time and start_at.
  delete found.frequency;
  if (job.schedule_type === 'INTERVAL' && job.start_at !== null) delete found.schedule_time;
  if (job.spread_seconds === 0) delete found.spread_seconds;
  return found;
}

/** For a new job like this one. An interval is counted anew, and a key belongs to one job. */
export function bodyOfCopy(job: Job): Body {
  const { key: _, schedule_time: at, ...rest } = bodyOfJob(job);
  return {
    ...rest,
    name: `${job.name} (copy)`,
    ...(job.schedule_type === 'FUTURE' && { schedule_time: at }),
  };
}

/** A body with this member at the path set, or removed where the value is undefined; empty objects go with their last member. */
export function withValue(body: Body, path: string, value: Json | undefined): Body {
  const [name = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : withValue(objectAt(body[name]), rest.join('.'), value);
  const { [name]: _, ...others } = body;
  const isGone = inner === undefined || (rest.length > 0 && isEmptyObject(inner as Json));
  if (isGone) return name === 'payload' && rest.length > 0 ? { ...body, payload: {} } : others;
  // Keeps the place of a member that is there already.
  return { ...body, [name]: inner as Json };
}

export function valueAt(body: Body, path: string): Json | undefined {
  let value: Json | undefined = body as Json;
  for (const name of path.split('.')) value = objectAt(value)[name];
  return value;
}

/** As the server infers it from the fields. */
export function scheduleTypeOf(body: Body): ScheduleType {
  const has = (field: string) => body[field] !== undefined && body[field] !== null;
  if (has('cron_expression')) return 'CRON';
  if (has('interval') || has('frequency')) return 'INTERVAL';
  return has('schedule_time') ? 'FUTURE' : 'IMMEDIATE';
}

export interface FieldChange {
  readonly field: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** What differs, by the deepest names that objects on both sides have. */
export function changesOf(before: Body, after: Body, prefix = ''): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): FieldChange[] => {
    const [was, is] = [before[name] ?? undefined, after[name] ?? undefined];
    if (isSame(was, is)) return [];
    const field = `${prefix}${name}`;
    if (isObject(was) && isObject(is)) return changesOf(was, is, `${field}.`);
    return [{ field, before: was, after: is }];
  });
}

/** What an update sends: only what differs, null for what was removed. */
export function patchOf(before: Body, after: Body): JobFields {
  const patch: Record<string, Json> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name] ?? undefined, after[name] ?? undefined];
    if (isSame(was, is)) continue;
    if (NESTED.has(name) && isObject(was) && isObject(is)) {
      const gone = Object.keys(was).filter((member) => is[member] === undefined);
      patch[name] = { ...is, ...Object.fromEntries(gone.map((member) => [member, null])) } as Json;
    } else patch[name] = (is as Json | undefined) ?? null;
  }
  // Without a rule, the type of before would stay.
  const type = scheduleTypeOf(after);
  if (type !== scheduleTypeOf(before)) patch.schedule_type = type;
  return patch as JobFields;
}

export interface Conflict extends FieldChange {
  readonly theirs: Json | undefined;
  readonly yours: Json | undefined;
  /** Who changed it; both: differently, so that only one of them can stay. */
  readonly by: 'them' | 'you' | 'alike' | 'both';
}

/** What two people did to one job: to `base`, which both began with. */
export function conflictsOf(base: Body, theirs: Body, yours: Body): Conflict[] {
  const byThem = new Map(changesOf(base, theirs).map((change) => [change.field, change]));
  const byYou = new Map(changesOf(base, yours).map((change) => [change.field, change]));
  return [...new Set([...byThem.keys(), ...byYou.keys()])].map((field) => {
    const [them, you] = [byThem.get(field), byYou.get(field)];
    const { before } = (them ?? you)!;
    return {
      ...{ field, before, after: you?.after },
      theirs: them ? them.after : before,
      yours: you ? you.after : before,
      by: whoOf(field, them, you),
    };
  });

  function whoOf(field: string, them: FieldChange | undefined, you: FieldChange | undefined): Conflict['by'] {
    if (them && you) return isSame(them.after, you.after) ? 'alike' : 'both';
    // One of them changed a part of what the other replaced as a whole.
    const others = them ? byYou : byThem;
    for (const other of others.keys()) if (isWithin(other, field) || isWithin(field, other)) return 'both';
    return them ? 'them' : 'you';
  }
}

const isWithin = (field: string, outer: string) => field.startsWith(`${outer}.`);

/** Your changes, made to their version: what you left alone is as they have it. */
export function rebased(base: Body, theirs: Body, yours: Body): Body {
  let merged = theirs;
  for (const name of new Set([...Object.keys(base), ...Object.keys(yours)])) {
    if (isSame(base[name] ?? undefined, yours[name] ?? undefined)) continue;
    const [was, them, you] = [base[name], theirs[name], yours[name]];
    const { [name]: _, ...others } = merged;
    // Member by member, as the changes are shown.
    if (isObject(was) && isObject(them) && isObject(you))
      merged = { ...merged, [name]: rebased(was, them, you) as Json };
    else merged = you === undefined ? others : { ...merged, [name]: you };
  }
  return merged;
}

function objectAt(value: Json | undefined): Body {
  return isObject(value) ? value : {};
}

export function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmptyObject(value: Json): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

/** The order of members makes no difference. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, i) => isSame(value, other[i]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => name in other && isSame(one[name], other[name]))
  );
}
