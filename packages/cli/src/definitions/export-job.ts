/** A job as a definition that can be applied: only what differs from the defaults, in the words of the API. */
import type { Job } from '@carillon/client';
import { stringify } from 'yaml';

export type Definition = Readonly<Record<string, unknown>>;

/** Every field of a definition, in the order in which people read them, with its default. A test compares them with the server. */
export const DEFAULTS: Definition = {
  key: null,
  name: null,
  schedule_type: null,
  schedule_time: null,
  cron_expression: null,
  interval: null,
  frequency: null,
  time_zone: 'UTC',
  start_at: null,
  end_at: null,
  daylight_saving: { gap: 'run_after', overlap: 'first' },
  spread_seconds: 0,
  misfire: { policy: 'last', max_runs: 100, window_seconds: 86_400 },
  handler: null,
  payload: {},
  priority: 'medium',
  max_retries: 3,
  retry: {
    strategy: 'exponential',
    delay_seconds: 1,
    max_delay_seconds: 300,
    jitter: true,
    deadline_seconds: null,
  },
  max_concurrency: 1,
  overlap: 'queue',
  timeout_seconds: 300,
  start_timeout_seconds: null,
  user_id: null,
  labels: {},
  resources: {},
};

/** Without its namespace, which a file says once for all its jobs. */
export function exportJob(job: Job): Definition {
  const fields = { ...job, ...impliedBy(job) } as Definition;
  const given = Object.entries(DEFAULTS).flatMap(([name, fallback]) => {
    const value = fields[name] ?? null;
    const differing = isMap(value) && isMap(fallback) ? differences(value, fallback) : value;
    if (differing === null || differing === undefined || isSame(value, fallback)) return [];
    return [[name, differing] as const];
  });
  return Object.fromEntries(given);
}

/** As YAML. Lines of a script stay lines: folded ones are hard to read, and to compare. */
export function definitionText(definition: Definition): string {
  return stringify(definition, { blockQuote: 'literal' });
}

/** What follows from other fields is left out. */
function impliedBy(job: Job): Definition {
  const anchor = job.start_at ?? job.created_at;
  return {
    name: job.name === job.key ? null : job.name,
    schedule_type: null,
    // The same as the interval, in another word.
    frequency: null,
    schedule_time: job.interval !== null && job.schedule_time === anchor ? null : job.schedule_time,
    handler: job.handler === inferredHandler(job) ? null : job.handler,
  };
}

function inferredHandler({ payload }: Job): string {
  const { url, script, code_location: location } = payload as Readonly<Record<string, unknown>>;
  if ((url ?? null) !== null) return 'http';
  return (script ?? location ?? null) === null ? 'default' : 'script';
}

/** The members that differ; of maps whose names are the caller's, such as labels, all. */
function differences(value: Definition, fallback: Definition): Definition | undefined {
  if (Object.keys(fallback).length === 0) return value;
  const members = Object.entries(value).filter(
    ([name, member]) => member !== null && !isSame(member, fallback[name]),
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function isMap(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
