/** What a reader of events asks for: filters, and the place to go on from. */
import {
  EVENT_KINDS,
  type EventPlace,
  type JobId,
  type Labels,
  type RunId,
  readPlace,
} from '@carillon/domain';
import { z } from 'zod';
import { EVENT_TYPE_PREFIX } from './event-view.ts';
import { readId } from './ids.ts';
import { count, labels, refuseValue, text } from './query-values.ts';
import type { Shape } from './shape.ts';

export const EVENTS_LIMIT_MAX = 1_000;
const EVENTS_LIMIT_DEFAULT = 100;

/** Every kind, and every word that kinds begin with. */
const KIND_WORDS = new Set(EVENT_KINDS.flatMap((kind) => [kind, kind.split('.')[0]!]));

const kinds = z
  .union([text, z.array(text).max(50)], { error: 'must be a type of events' })
  .transform((given) => [given].flat().flatMap((part) => part.split(',').map(kindOf)))
  .refine((given) => given.every((kind) => KIND_WORDS.has(kind)), {
    error: `must be one or more of ${[...KIND_WORDS].join(', ')}`,
  })
  .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...KIND_WORDS] } });

const eventsFields = z.strictObject({
  type: kinds
    .optional()
    .describe('Types, with or without "io.carillon."; "run" stands for all of runs. Any of them.'),
  job_id: text.optional().describe('Of this job and its runs.'),
  run_id: text.optional().describe('Of this run.'),
  namespace: text.optional().describe('Of jobs in this namespace.'),
  user_id: text.optional().describe('Of jobs of this user.'),
  handler: text.optional().describe('Of jobs with this handler.'),
  label: labels.optional().describe('name:value; given several times, all must hold.'),
  last_event_id: text
    .optional()
    .describe(
      'The id of the last event you saw: what came after it follows. The header Last-Event-ID does the same.',
    ),
  limit: count(EVENTS_LIMIT_MAX)
    .optional()
    .describe(`Asks for a page of JSON, of this many events; ${EVENTS_LIMIT_DEFAULT} when left out.`),
});

export const EVENTS_QUERY = { schema: eventsFields } satisfies Shape;

export interface EventsQuery {
  readonly filter: {
    readonly kinds?: readonly string[];
    readonly jobId?: JobId;
    readonly runId?: RunId;
    readonly namespace?: string;
    readonly userId?: string;
    readonly handler?: string;
    readonly labels?: Labels;
  };
  readonly after: EventPlace | undefined;
  readonly limit: number;
  /** A limit was asked for: a stream has none. */
  readonly isPage: boolean;
}

/** header: Last-Event-ID, which a browser sends when it comes back; it is newer than what its first address said. */
export function toEventsQuery(
  read: z.output<typeof eventsFields>,
  header: string | readonly string[] | undefined,
): EventsQuery {
  return {
    filter: {
      ...(read.type !== undefined && { kinds: read.type }),
      ...(read.job_id !== undefined && { jobId: readId(read.job_id, 'job') as JobId }),
      ...(read.run_id !== undefined && { runId: readId(read.run_id, 'run') as RunId }),
      ...(read.namespace !== undefined && { namespace: read.namespace }),
      ...(read.user_id !== undefined && { userId: read.user_id }),
      ...(read.handler !== undefined && { handler: read.handler }),
      ...(read.label !== undefined && { labels: read.label }),
    },
    after:
      readEventId([header].flat()[0] || undefined, 'Last-Event-ID') ??
      readEventId(read.last_event_id, 'last_event_id'),
    limit: read.limit ?? EVENTS_LIMIT_DEFAULT,
    isPage: read.limit !== undefined,
  };
}

export function readEventId(given: string | undefined, field: string): EventPlace | undefined {
  if (given === undefined) return undefined;
  return (
    readPlace(given.replace(/^gap-/, '')) ??
    refuseValue(field, `${field} must be the id of an event, such as 74231-1802-0.`)
  );
}

function kindOf(written: string): string {
  const word = written.trim().toLowerCase();
  const short = word.startsWith(EVENT_TYPE_PREFIX) ? word.slice(EVENT_TYPE_PREFIX.length) : word;
  return short.replace(/\.?\*?$/, '');
}
