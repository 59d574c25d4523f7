/** The options that describe a job, for creating one and for changing one: friendly words for the fields of the interface. */
import type { JobFields, JsonObject } from '@carillon/client';
import type { World } from '../cli.ts';
import type { OptionSpec } from '../command.ts';
import { UsageError } from '../program/usage-error.ts';
import { readPayload } from './read-json.ts';
import { readCount, readSeconds } from './read-number.ts';
import { readPairs } from './read-pairs.ts';

export interface JobOptions {
  readonly cron?: string;
  readonly every?: string;
  readonly at?: string;
  readonly in?: string;
  readonly tz?: string;
  readonly startAt?: string;
  readonly endAt?: string;
  readonly http?: string;
  readonly method?: string;
  readonly header?: readonly string[];
  readonly body?: string;
  readonly handler?: string;
  readonly payload?: string;
  readonly priority?: string;
  readonly retries?: string;
  readonly timeout?: string;
  readonly concurrency?: string;
  readonly overlap?: string;
  readonly misfire?: string;
  readonly namespace?: string;
  readonly user?: string;
  readonly label?: readonly string[];
}

export const JOB_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--cron <expression>',
    description: 'Run by a cron expression: 5 fields, or 6 with seconds first',
  },
  { flags: '--every <interval>', description: 'Run again and again: 30s, 15m, 6h, 1d, 2w, 1mo' },
  {
    flags: '--at <time>',
    description: 'Run once: ISO 8601 with an offset, or without one together with --tz',
  },
  { flags: '--in <duration>', description: 'Run once, after: 30s, 15m, 2h' },
  { flags: '--tz <zone>', description: 'Time zone of the schedule, such as Europe/Paris [UTC]' },
  { flags: '--start-at <time>', description: 'No occurrence before' },
  { flags: '--end-at <time>', description: 'No occurrence after' },
  { flags: '--http <url>', description: 'Call this address (handler http)' },
  { flags: '--method <method>', description: 'Of the call [POST with a body, else GET]' },
  { flags: '--header <name:value>', description: 'Of the call; may be repeated', repeatable: true },
  { flags: '--body <text>', description: 'Of the call; JSON is sent as JSON' },
  { flags: '--handler <name>', description: 'What runs it, when it is not --http' },
  { flags: '--payload <json>', description: 'For the handler: a JSON object, or @file' },
  { flags: '--priority <level>', description: 'How urgent', choices: ['low', 'medium', 'high'] },
  { flags: '--retries <count>', description: 'Attempts after the first [3]' },
  { flags: '--timeout <duration>', description: 'Longest time of one attempt [5m]' },
  { flags: '--concurrency <count>', description: 'Runs of this job at the same time [1]' },
  {
    flags: '--overlap <policy>',
    description: 'When that many are running',
    choices: ['queue', 'skip', 'replace'],
  },
  {
    flags: '--misfire <policy>',
    description: 'Occurrences that could not start in time',
    choices: ['none', 'last', 'all'],
  },
  { flags: '--namespace <name>', description: 'Namespace of the job' },
  { flags: '--user <id>', description: 'Whose job it is' },
  { flags: '--label <name=value>', description: 'May be repeated', repeatable: true },
];

export async function readJobOptions(options: JobOptions, world: World): Promise<JobFields> {
  const payload = await payloadOf(options, world);
  const fields = {
    cron_expression: options.cron,
    interval: options.every,
    schedule_time: scheduleTime(options),
    time_zone: options.tz,
    start_at: options.startAt,
    end_at: options.endAt,
    handler: options.handler ?? (options.http === undefined ? undefined : 'http'),
    payload,
    priority: options.priority,
    max_retries: readCount(options.retries, '--retries'),
    timeout_seconds: readSeconds(options.timeout, '--timeout'),
    max_concurrency: readCount(options.concurrency, '--concurrency'),
    overlap: options.overlap,
    misfire: options.misfire && { policy: options.misfire },
    namespace: options.namespace,
    user_id: options.user,
    labels: options.label && readPairs(options.label, { flag: '--label' }),
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as JobFields;
}

function scheduleTime({ at, in: after }: JobOptions): string | undefined {
  if (after === undefined) return at;
  if (at !== undefined) throw new UsageError('--at and --in both say when: give one of them.');
  const seconds = readSeconds(after, '--in') ?? 0;
  return new Date(Date.now() + seconds * 1_000).toISOString();
}

async function payloadOf(options: JobOptions, world: World): Promise<JsonObject | undefined> {
  const given = options.payload === undefined ? undefined : await readPayload(options.payload, world);
  const { http, method, header, body } = options;
  if (http === undefined) {
    if (method ?? header ?? body) throw new UsageError('--method, --header and --body belong to --http.');
    return given;
  }
  return {
    ...given,
    url: http,
    ...(method !== undefined && { method: method.toUpperCase() }),
    ...(header && { headers: readPairs(header, { flag: '--header', separator: ':' }) }),
    ...(body !== undefined && { body: jsonOrText(body) }),
  };
}

function jsonOrText(text: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as JsonObject) : text;
  } catch {
    // Not JSON: sent as the text it is.
    return text;
  }
}
