/** The flags that say what a job is, and the fields of the API that they make: of a new job, or of a change to one. */
import type { Job, JobFields, Json, JsonObject } from '@carillon/client';
import { UsageError } from '../errors.ts';
import {
  choice,
  count,
  daylightSaving,
  fromNow,
  headers,
  jsonObject,
  labels,
  longFlag,
  onOff,
  PRIORITY,
  resources,
  seconds,
  text,
  textFile,
  texts,
  type Values,
  variables,
} from '../flags.ts';

/** The key of a flag, or its `field`, is the path of what it sets: `retry.delay_seconds`. */
export const JOB_FLAGS = {
  cron_expression: text('--cron <expression>', 'Run by a cron expression: 5 fields, or 6 with seconds first'),
  interval: text('--every <interval>', 'Run again and again: 30s, 15m, 6h, 1d, 2w, 1mo'),
  schedule_time: text('--at <time>', 'Run once: ISO 8601 with an offset, or without one together with --tz'),
  in: fromNow('--in <duration>', 'Run once, after: 30s, 15m, 2h', 'schedule_time'),
  time_zone: text('--tz <zone>', 'Time zone of the schedule, such as Europe/Paris [UTC]'),
  start_at: text('--start-at <time>', 'No occurrence before'),
  end_at: text('--end-at <time>', 'No occurrence after'),
  daylight_saving: daylightSaving(
    '--daylight-saving <rule>',
    'Local times that do not exist: gap=run_after or gap=skip; that exist twice: overlap=first, second or both; may be repeated',
  ),
  spread_seconds: seconds('--spread <duration>', 'Delay every occurrence by a fixed share below this'),
  http: text('--http <url>', 'Call this address (handler http)', 'payload.url'),
  method: text('--method <method>', 'Of the call [POST with a body, else GET]', 'payload.method'),
  header: headers('--header <name:value>', 'Of the call; may be repeated', 'payload.headers'),
  body: text('--body <text>', 'Of the call; JSON is sent as JSON', 'payload.body'),
  expect_status: texts(
    '--expect-status <status>',
    'What counts as success, such as 200 or 3xx [2xx]; may be repeated',
    'payload.expect_status',
  ),
  script: textFile(
    '--script <file>',
    'Run the script in this file (handler script); - reads it',
    'payload.script',
  ),
  interpreter: text(
    '--interpreter <name>',
    'What reads the script, such as bash [its first line, else sh]',
    'payload.interpreter',
  ),
  arg: texts('--arg <text>', 'Of the script; may be repeated', 'payload.args'),
  env: variables('--env <NAME=value>', 'Environment variable of the script; may be repeated', 'payload.env'),
  handler: text('--handler <name>', 'What runs it, when it is neither --http nor --script'),
  payload: jsonObject('--payload <json>', 'For the handler: a JSON object, or @file'),
  priority: PRIORITY,
  max_retries: count('--retries <count>', 'Attempts after the first [3]'),
  retry_strategy: choice(
    '--retry-strategy <strategy>',
    'How pauses between attempts grow [exponential]',
    ['none', 'fixed', 'exponential'],
    'retry.strategy',
  ),
  retry_delay: seconds('--retry-delay <duration>', 'First pause [1s]', 'retry.delay_seconds'),
  retry_max_delay: seconds('--retry-max-delay <duration>', 'Longest pause [5m]', 'retry.max_delay_seconds'),
  retry_jitter: onOff(
    '--retry-jitter <on|off>',
    'Vary pauses, so that not all return at once [on]',
    'retry.jitter',
  ),
  retry_deadline: seconds(
    '--retry-deadline <duration>',
    'No attempt starts later than this after the occurrence was due',
    'retry.deadline_seconds',
  ),
  timeout_seconds: seconds('--timeout <duration>', 'Longest time of one attempt [5m]'),
  start_timeout_seconds: seconds('--start-timeout <duration>', 'Longest time a run may wait for its start'),
  max_concurrency: count('--concurrency <count>', 'Runs of this job at the same time [1]'),
  overlap: choice('--overlap <policy>', 'When that many are running', ['queue', 'skip', 'replace']),
  misfire: choice(
    '--misfire <policy>',
    'Occurrences that could not start in time [last]',
    ['none', 'last', 'all'],
    'misfire.policy',
  ),
  misfire_max_runs: count('--misfire-max-runs <count>', 'Of all: at most so many [100]', 'misfire.max_runs'),
  misfire_window: seconds(
    '--misfire-window <duration>',
    'Of all: within this time',
    'misfire.window_seconds',
  ),
  // --key is the key of the caller.
  key: text('--job-key <key>', 'What you know the job by, unique in its namespace', 'key'),
  namespace: text('--namespace <name>', 'Namespace of the job [that of the context]'),
  user_id: text('--user <user>', 'Whose job it is: name or id of the user'),
  labels: labels('--label <name=value>', 'May be repeated'),
  resources: resources('--resource <name=amount>', 'What a run takes up, such as cpu=2; may be repeated'),
};

/** The path of the field that the flag of this name sets: people know fields by their flags, and write them so into files. */
export function fieldOfFlag(name: string): string | undefined {
  const entry = Object.entries(JOB_FLAGS).find(
    ([, flag]) => longFlag(flag) === `--${name.replaceAll('_', '-')}`,
  );
  return entry && (entry[1].field ?? entry[0]);
}

export type JobValues = Values<typeof JOB_FLAGS>;
type Nested = { [name: string]: unknown };

/** What the payload of a built-in handler is made of, beside the flag that chooses the handler. */
const ABOUT = {
  http: ['method', 'header', 'body', 'expect_status'],
  script: ['interpreter', 'arg', 'env'],
} as const;
type BuiltIn = keyof typeof ABOUT;
const BUILT_IN = Object.keys(ABOUT) as readonly BuiltIn[];

/** The fields of a new job. */
export function jobFields(options: JobValues): JobFields {
  return fieldsOf(options, {});
}

/** The fields that change: what is given, put into what the job has where that is one field of the API. */
export function changedFields(options: JobValues, current: Job | undefined): JobFields {
  return fieldsOf(options, current ?? {});
}

/** Whether the change goes into a field that also holds what is not given: the job has to be read first. */
export function needsCurrent(options: JobValues): boolean {
  const { labels: given, resources: amounts, payload } = options;
  const isPart = BUILT_IN.some((handler) => isAbout(handler, options)) && payload === undefined;
  return isPart || given !== undefined || amounts !== undefined;
}

function isAbout(handler: BuiltIn, options: JobValues): boolean {
  return [handler, ...ABOUT[handler]].some((name) => options[name] !== undefined);
}

function fieldsOf(options: JobValues, current: Partial<Job>): JobFields {
  if (options.in !== undefined && options.schedule_time !== undefined)
    throw new UsageError('--at and --in both say when: give one of them.');
  const handler = builtInOf(options, current);
  const base = options.payload ?? (handler && current.handler === handler ? current.payload : undefined);
  const fields: Nested = {
    ...(base !== undefined && { payload: withoutReplaced(base, options) }),
    ...(handler && options[handler] !== undefined && { handler }),
  };
  for (const [name, flag] of Object.entries(JOB_FLAGS)) {
    const value = apiValue(name as keyof JobValues, options, { ...current, payload: base });
    if (name !== 'payload' && value !== undefined && value !== '') setAt(fields, flag.field ?? name, value);
  }
  refuseHidden(fields.payload as JsonObject | undefined);
  return fields as JobFields;
}

/** The built-in handler whose payload the flags are about; undefined when they are about none. */
function builtInOf(options: JobValues, current: Partial<Job>): BuiltIn | undefined {
  const [handler, second] = BUILT_IN.filter((one) => isAbout(one, options));
  if (handler === undefined) return undefined;
  if (second !== undefined)
    throw new UsageError('--http and --script both say what to run: give one of them.');
  if (options[handler] !== undefined || (options.handler ?? current.handler) === handler) return handler;
  const flags = ABOUT[handler].map((name) => longFlag(JOB_FLAGS[name]));
  throw new UsageError(`${flags.slice(0, -1).join(', ')} and ${flags.at(-1)} belong to --${handler}.`);
}

/** A script that is given replaces the place that it came from before. */
function withoutReplaced(payload: JsonObject, { script }: JobValues): JsonObject {
  if (script === undefined) return { ...payload };
  const { code_location: _, sha256: __, ...kept } = payload;
  return kept;
}

/** As the API takes it. */
function apiValue(
  name: keyof JobValues,
  options: JobValues,
  {
    labels: hadLabels,
    resources: hadResources,
    payload,
  }: Partial<Pick<Job, 'labels' | 'resources'>> & { payload?: JsonObject | undefined },
): unknown {
  switch (name) {
    case 'method':
      return options.method?.toUpperCase();
    case 'body':
      return options.body === undefined ? undefined : jsonOrText(options.body);
    case 'expect_status':
      return options.expect_status
        ?.flatMap((given) => given.split(','))
        .map((one) => one.trim().toLowerCase());
    case 'header':
      return options.header && mergedHeaders(payload?.headers, options.header);
    case 'env':
      return options.env && withoutEmpty({ ...(payload?.env as Record<string, string>), ...options.env });
    case 'labels':
      return options.labels && withoutEmpty({ ...hadLabels, ...options.labels });
    case 'resources':
      return options.resources && { ...hadResources, ...options.resources };
    default:
      return options[name];
  }
}

/** Names of headers are the same in any case; one that is given without a value is removed. */
function mergedHeaders(before: Json | undefined, given: Readonly<Record<string, string>>): JsonObject {
  const replaced = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const kept = Object.entries((before ?? {}) as JsonObject).filter(
    ([name]) => !replaced.has(name.toLowerCase()),
  );
  return { ...Object.fromEntries(kept), ...withoutEmpty(given) };
}

function withoutEmpty(pairs: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(pairs).filter(([, value]) => value !== ''));
}

function setAt(fields: Nested, path: string, value: unknown): void {
  const [name = '', ...rest] = path.split('.');
  if (rest.length === 0) fields[name] = value;
  else {
    const inner = (fields[name] ?? {}) as Nested;
    setAt(inner, rest.join('.'), value);
    fields[name] = inner;
  }
}

/** A value that the server hides from this caller would be written back as it is shown, in place of the real one. */
function refuseHidden(payload: JsonObject | undefined): void {
  if (payload === undefined || !JSON.stringify(payload).includes('"[hidden]"')) return;
  throw new UsageError(
    'Parts of the payload of this job are hidden from you, and would be lost.',
    'Ask for the permission payloads.read, or give the whole payload with --payload.',
  );
}

function jsonOrText(body: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as JsonObject) : body;
  } catch {
    // Not JSON: sent as text.
    return body;
  }
}
