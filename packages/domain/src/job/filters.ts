/**
 * What lists of jobs, runs, dead letters and events can be narrowed to: the one declaration that queries, bodies and the types of selections
 * follow from. What a filter means is said by each storage.
 */
import type { JobId, RunId } from '../ids.ts';
import { DEAD_REASONS, type DeadReason } from '../retry/decide-next.ts';
import { RUN_STATUSES, type RunStatus } from '../run/run.ts';
import type { ScheduleType } from '../schedule/schedule.ts';
import { type Labels, PRIORITIES, SHOWN_JOB_STATUSES, type ShownJobStatus } from './job.ts';

/** An instant, or how long before the request it lies. */
export type Moment = { readonly atMs: number } | { readonly agoMs: number };

/** What a value of each kind is; of words, what the word stands for, and any of several for any_of. */
interface Values<Word> {
  readonly text: string;
  readonly instant: number;
  readonly moment: Moment;
  readonly labels: Labels;
  readonly job_id: JobId;
  readonly run_id: RunId;
  /** Any of these kinds; a prefix such as "run" stands for all of run.… */
  readonly event_kinds: readonly string[];
  readonly one_of: Word;
  readonly any_of: readonly (Word extends readonly (infer One)[] ? One : Word)[];
}

export interface Filter<
  Kind extends keyof Values<unknown> = keyof Values<unknown>,
  Query extends string = string,
  Word = unknown,
> {
  readonly kind: Kind;
  /** Its name in a query. */
  readonly query: Query;
  readonly about: string | undefined;
  readonly words: ReadonlyMap<string, Word>;
  /** The words as the documentation has them, where that differs. */
  readonly documented: readonly string[] | undefined;
}

export type FilterTable = Readonly<Record<string, Filter>>;

/** Everything given must hold. */
export type Selection<Table extends FilterTable> = {
  readonly [Name in keyof Table]?:
    | (Table[Name] extends Filter<infer Kind, string, infer Word> ? Values<Word>[Kind] : never)
    | undefined;
};

function filter<Kind extends Filter['kind'], const Query extends string, Word = never>(
  kind: Kind,
  query: Query,
  about?: string,
  words: { is: Iterable<readonly [string, Word]>; documented?: readonly string[] } = { is: [] },
): Filter<Kind, Query, Word> {
  return { kind, query, about, words: new Map(words.is), documented: words.documented };
}

/** Other words for a status of a job; every status is also understood in any case. */
const STATUS_ALIASES: [string, ShownJobStatus][] = [
  ['pending', 'SCHEDULED'],
  ['succeeded', 'COMPLETED'],
  ['success', 'COMPLETED'],
  ['canceled', 'CANCELLED'],
];
const STATUSES: [string, ShownJobStatus][] = [
  ...SHOWN_JOB_STATUSES.map((status): [string, ShownJobStatus] => [status.toLowerCase(), status]),
  ...STATUS_ALIASES,
];
const TYPES: [string, readonly ScheduleType[]][] = [
  ['immediate', ['IMMEDIATE']],
  ['future', ['FUTURE']],
  ['cron', ['CRON']],
  ['interval', ['INTERVAL']],
  ['one-time', ['IMMEDIATE', 'FUTURE']],
  ['recurring', ['CRON', 'INTERVAL']],
];

const labels = filter('labels', 'label', 'name:value; given several times, all must hold.');
const ofJobs = {
  userId: filter('text', 'user_id', 'Whose jobs; "me" for those of the caller.'),
  namespace: filter('text', 'namespace'),
  handler: filter('text', 'handler'),
};

export const JOB_FILTERS = {
  statuses: filter('any_of', 'status', 'One or several, separated by commas.', { is: STATUSES }),
  scheduleTypes: filter('any_of', 'type', 'One or several, separated by commas.', { is: TYPES }),
  priority: filter('one_of', 'priority', undefined, {
    is: PRIORITIES.map((priority) => [priority, priority] as const),
  }),
  userId: ofJobs.userId,
  namespace: ofJobs.namespace,
  labels,
  handler: ofJobs.handler,
  text: filter('text', 'text', 'Part of the name, in any case.'),
  jobName: filter('text', 'name', 'Exactly this name.'),
  jobKey: filter('text', 'key', 'Exactly this key.'),
  jobKeyPrefix: filter('text', 'key_prefix', 'Keys that begin with this.'),
  createdFromMs: filter('instant', 'created_after', 'Made at or after this instant.'),
  createdToMs: filter('instant', 'created_before', 'Made before this instant.'),
};
export type JobSelection = Selection<typeof JOB_FILTERS>;

export const RUN_FILTERS = {
  statuses: filter('any_of', 'status', 'One or several, separated by commas.', {
    is: RUN_STATUSES.map((status): [string, RunStatus] => [status.toLowerCase().replace('_', '-'), status]),
    documented: RUN_STATUSES.map((status) => status.toLowerCase()),
  }),
  jobId: filter('job_id', 'job_id', 'Of this job, those that wait included.'),
  namespace: ofJobs.namespace,
  userId: ofJobs.userId,
  handler: ofJobs.handler,
  labels,
  workerId: filter('text', 'worker_id', 'Handed to this worker.'),
  error: filter('text', 'error', 'Part of the error message, in any case. Needs payloads.read.'),
  failure: filter(
    'text',
    'failure',
    'Failures that are alike: the fingerprint of a group of GET /api/failures. Other than "other".',
  ),
  since: filter(
    'moment',
    'since',
    'Handed out since then, and those that ended otherwise than well since then. An instant, or how long ago: 15m, 1h, 1d.',
  ),
  until: filter('moment', 'until', 'Handed out before then. An instant, or how long ago.'),
};
export type RunSelection = Selection<typeof RUN_FILTERS>;

export const DEAD_LETTER_FILTERS = {
  jobId: filter('job_id', 'job_id'),
  reason: filter('one_of', 'reason', undefined, {
    is: DEAD_REASONS.map((reason): [string, DeadReason] => [reason.replaceAll('_', '-'), reason]),
    documented: DEAD_REASONS,
  }),
  handler: ofJobs.handler,
  namespace: ofJobs.namespace,
  userId: ofJobs.userId,
  error: filter('text', 'error', 'Part of the error message, in any case. Needs payloads.read.'),
  diedFromMs: filter('instant', 'died_after', 'Given up at or after this instant.'),
  diedToMs: filter('instant', 'died_before', 'Given up before this instant.'),
};
export type DeadLetterSelection = Selection<typeof DEAD_LETTER_FILTERS>;

export const EVENT_FILTERS = {
  kinds: filter(
    'event_kinds',
    'type',
    'Types, with or without "io.carillon."; "run" stands for all of runs. Any of them.',
  ),
  jobId: filter('job_id', 'job_id', 'Of this job and its runs.'),
  runId: filter('run_id', 'run_id', 'Of this run.'),
  namespace: filter('text', 'namespace', 'Of jobs in this namespace.'),
  userId: filter('text', 'user_id', 'Of jobs of this user.'),
  handler: filter('text', 'handler', 'Of jobs with this handler.'),
  labels,
};
export type EventSelection = Selection<typeof EVENT_FILTERS>;
