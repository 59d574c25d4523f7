/**
 * What lists of jobs and dead letters can be narrowed to: the one declaration that queries, bodies and the types of selections
 * follow from. What a filter means is said by each storage.
 */
import type { JobId } from '../ids.ts';
import { DEAD_REASONS, type DeadReason } from '../retry/decide-next.ts';
import type { ScheduleType } from '../schedule/schedule.ts';
import type { Labels } from './job.ts';
import { JOB_STATUSES, type JobStatus } from './job-status.ts';
import { PRIORITIES } from './priority.ts';

interface ValuesOfKinds {
  readonly text: string;
  readonly instant: number;
  readonly labels: Labels;
  readonly job_id: JobId;
}

/** Query: its name in a query. */
export interface Filter<
  Kind extends keyof ValuesOfKinds = keyof ValuesOfKinds,
  Query extends string = string,
> {
  readonly kind: Kind;
  readonly query: Query;
  readonly about: string | undefined;
}

/** One word or any of several, and what each stands for. */
export interface WordFilter<
  Kind extends 'one_of' | 'any_of' = 'one_of' | 'any_of',
  Query extends string = string,
  Value = unknown,
> {
  readonly kind: Kind;
  readonly query: Query;
  readonly about: string | undefined;
  readonly words: ReadonlyMap<string, Value>;
  /** The words as the documentation has them, where that differs. */
  readonly documented?: readonly string[];
}

export type FilterTable = Readonly<Record<string, Filter | WordFilter>>;

/** Everything given must hold. */
export type Selection<Table extends FilterTable> = {
  readonly [Name in keyof Table]?: FilterValue<Table[Name]> | undefined;
};

type FilterValue<F> =
  F extends WordFilter<infer Kind, string, infer Value>
    ? Kind extends 'any_of'
      ? readonly (Value extends readonly (infer One)[] ? One : Value)[]
      : Value
    : F extends Filter<infer Kind>
      ? ValuesOfKinds[Kind]
      : never;

function filter<Kind extends Filter['kind'], const Query extends string>(
  kind: Kind,
  query: Query,
  about?: string,
): Filter<Kind, Query> {
  return { kind, query, about };
}

function words<Kind extends WordFilter['kind'], const Query extends string, Value>(
  kind: Kind,
  query: Query,
  options: { words: Iterable<readonly [string, Value]>; about?: string; documented?: readonly string[] },
): WordFilter<Kind, Query, Value> {
  return { kind, query, about: undefined, ...options, words: new Map(options.words) };
}

const STATUSES: [string, JobStatus][] = [
  ...JOB_STATUSES.map((status): [string, JobStatus] => [status.toLowerCase(), status]),
  ['pending', 'SCHEDULED'],
];
const TYPES: [string, readonly ScheduleType[]][] = [
  ['immediate', ['IMMEDIATE']],
  ['future', ['FUTURE']],
  ['cron', ['CRON']],
  ['interval', ['INTERVAL']],
  ['one-time', ['IMMEDIATE', 'FUTURE']],
  ['recurring', ['CRON', 'INTERVAL']],
];

const ofJobs = {
  userId: filter('text', 'user_id', 'Whose jobs; "me" for those of the caller.'),
  namespace: filter('text', 'namespace'),
  handler: filter('text', 'handler'),
};

export const JOB_FILTERS = {
  statuses: words('any_of', 'status', {
    about: 'One or several, separated by commas.',
    words: STATUSES,
  }),
  scheduleTypes: words('any_of', 'type', { about: 'One or several, separated by commas.', words: TYPES }),
  priority: words('one_of', 'priority', {
    words: PRIORITIES.map((priority) => [priority, priority] as const),
  }),
  userId: ofJobs.userId,
  namespace: ofJobs.namespace,
  labels: filter('labels', 'label', 'name:value; given several times, all must hold.'),
  handler: ofJobs.handler,
  text: filter('text', 'text', 'Part of the name, in any case.'),
  createdFromMs: filter('instant', 'created_after', 'Made at or after this instant.'),
  createdToMs: filter('instant', 'created_before', 'Made before this instant.'),
};
export type JobSelection = Selection<typeof JOB_FILTERS>;

export const DEAD_LETTER_FILTERS = {
  jobId: filter('job_id', 'job_id'),
  reason: words('one_of', 'reason', {
    words: DEAD_REASONS.map((reason): [string, DeadReason] => [reason.replaceAll('_', '-'), reason]),
    documented: DEAD_REASONS,
  }),
  handler: ofJobs.handler,
  namespace: ofJobs.namespace,
  userId: ofJobs.userId,
  diedFromMs: filter('instant', 'died_after', 'Given up at or after this instant.'),
  diedToMs: filter('instant', 'died_before', 'Given up before this instant.'),
};
export type DeadLetterSelection = Selection<typeof DEAD_LETTER_FILTERS>;
