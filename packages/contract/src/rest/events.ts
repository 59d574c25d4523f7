/** Events: what a reader may select, and how they are sent: CloudEvents 1.0 in JSON, with data spelled like every other answer. */
import {
  EVENT_FILTERS,
  EVENT_KINDS,
  type EventCursor,
  type EventJob,
  type EventKind,
  type EventMember,
  type EventRun,
  type EventSelection,
  type RecordedEvent,
  RUN_STATUSES,
  readEventCursor,
  refuseValue,
  writeEventCursor,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText } from './answer.ts';
import { EVENT_TYPE_PREFIX, filterShape, toSelection } from './filter-schemas.ts';
import { progressAnswer, progressView } from './run-state.ts';
import type { Shape } from './shape.ts';
import { count, cursor, LIMIT_DEFAULT, LIMIT_MAX, readCursor, text } from './values.ts';

const eventsFields = z.strictObject({
  ...filterShape(EVENT_FILTERS),
  last_event_id: text
    .optional()
    .describe(
      'The id of the last event you saw: what came after it follows. The header Last-Event-ID does the same.',
    ),
  cursor: cursor.describe('The same, from the Link header of a page.'),
  limit: count(LIMIT_MAX)
    .optional()
    .describe(`Asks for a page of JSON, of this many events; ${LIMIT_DEFAULT} when left out.`),
});

export const EVENTS_QUERY = { schema: eventsFields } satisfies Shape;

export interface EventsQuery {
  readonly filter: EventSelection;
  readonly after: EventCursor | undefined;
  readonly limit: number;
  /** The caller gave a limit: a stream has none. */
  readonly isPage: boolean;
}

/** header: Last-Event-ID, which a browser sends when it reconnects; it is newer than what its first address said. */
export function toEventsQuery(
  read: z.output<typeof eventsFields>,
  header: string | readonly string[] | undefined,
): EventsQuery {
  return {
    filter: toSelection(EVENT_FILTERS, read),
    after:
      readEventId([header].flat()[0] || undefined, 'Last-Event-ID') ??
      readEventId(read.last_event_id, 'last_event_id') ??
      readCursor({ cursor: read.cursor }, (given) => readEventId(given, 'cursor')),
    limit: read.limit ?? LIMIT_DEFAULT,
    isPage: read.limit !== undefined,
  };
}

export function readEventId(given: string | undefined, field: string): EventCursor | undefined {
  if (given === undefined) return undefined;
  return (
    readEventCursor(given.replace(/^gap-/, '')) ??
    refuseValue(field, `${field} must be the id of an event, such as 74231-1802-0.`)
  );
}

const jobData = answerOf<EventJob>()({
  job_id: [z.string(), (job) => job.jobId],
  name: [z.string().nullable(), (job) => job.name],
  namespace: [z.string().nullable(), (job) => job.namespace],
  user_id: [z.string().nullable(), (job) => job.userId ?? null],
  handler: [z.string().nullable(), (job) => job.handler ?? null],
  schedule_type: [z.string().nullable(), (job) => job.scheduleType ?? null],
  labels: [z.record(z.string(), z.string()), (job) => job.labels],
});

const runData = answerOf<{ run: EventRun; job: EventJob | undefined }>()({
  run_id: [z.string(), ({ run }) => run.runId],
  job_id: [z.string(), ({ run }) => run.jobId],
  job_name: [z.string().nullable(), ({ job }) => job?.name ?? null],
  namespace: [z.string().nullable(), ({ job }) => job?.namespace ?? null],
  user_id: [z.string().nullable(), ({ job }) => job?.userId ?? null],
  handler: [z.string().nullable(), ({ job }) => job?.handler ?? null],
  status: [z.enum(RUN_STATUSES), ({ run }) => run.status],
  attempt_number: [z.int(), ({ run }) => run.attempt],
  epoch: [z.int(), ({ run }) => run.epoch],
  trigger: [z.string(), ({ run }) => run.trigger],
  scheduled_at: [instant, ({ run }) => instantText(run.scheduledAtMs)],
  started_at: [instant.nullable(), ({ run }) => instantText(run.startedAtMs)],
  ended_at: [instant.nullable(), ({ run }) => instantText(run.endedAtMs)],
  worker_id: [z.string().nullable(), ({ run }) => run.executorId ?? null],
  start_time: [deprecated(instant.nullable(), 'started_at'), ({ run }) => instantText(run.startedAtMs)],
  end_time: [deprecated(instant.nullable(), 'ended_at'), ({ run }) => instantText(run.endedAtMs)],
  executor_id: [deprecated(z.string().nullable(), 'worker_id'), ({ run }) => run.executorId ?? null],
  error_message: [z.string().nullable(), ({ run }) => run.error ?? null],
  reason: [z.string().nullable(), ({ run }) => run.reason ?? null],
  occurrences: [z.int(), ({ run }) => run.occurrences],
  retry_at: [
    instant.nullable().describe('Of run.retrying: when the next attempt is due.'),
    ({ run }) => instantText(run.retryAtMs),
  ],
  dead_reason: [
    z.string().nullable().describe('Of run.dead_lettered: why it was given up.'),
    ({ run }) => run.deadReason ?? null,
  ],
  progress: [
    progressAnswer.nullable().describe('How far the attempt was when the event was read.'),
    ({ run: { progress } }) => (progress ? progressView(progress) : null),
  ],
});

const memberData = answerOf<EventMember>()({
  worker_id: [z.string().nullable(), ({ workerId }) => workerId ?? null],
  node_id: [z.string(), ({ nodeId }) => nodeId],
});

const gapData = z.strictObject({ message: z.string() });

export const eventAnswer = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: z.string(),
    source: z.string(),
    type: z.enum(EVENT_KINDS.map(typeOfKind)),
    subject: z.string().optional(),
    time: instant,
    datacontenttype: z.literal('application/json'),
    data: z.union([runData.answer, jobData.answer, memberData.answer, gapData]),
  })
  .meta({ id: 'Event' });

export type CloudEvent = z.output<typeof eventAnswer>;

export function typeOfKind(kind: EventKind): string {
  return `${EVENT_TYPE_PREFIX}${kind}`;
}

export function cloudEvent(event: RecordedEvent): CloudEvent {
  const id = writeEventCursor(event.cursor);
  return {
    specversion: '1.0',
    id: event.kind === 'gap' ? `gap-${id}` : id,
    source: 'carillon',
    type: typeOfKind(event.kind),
    ...subjectOf(event),
    time: instantText(event.atMs),
    datacontenttype: 'application/json',
    data: dataOf(event),
  };
}

function subjectOf({ job, run, member }: RecordedEvent): { subject?: string } {
  if (run) return { subject: `runs/${run.runId}` };
  if (job) return { subject: `jobs/${job.jobId}` };
  if (!member) return {};
  const { workerId, nodeId } = member;
  return { subject: workerId === undefined ? `nodes/${nodeId}` : `workers/${workerId}` };
}

function dataOf({ job, run, member }: RecordedEvent): CloudEvent['data'] {
  if (run) return runData.view({ run, job });
  if (job) return jobData.view(job);
  if (member) return memberData.view(member);
  return { message: 'Events between the last one you saw and the next one you get may have been missed.' };
}

/** One event as a message of a stream. A gap has no id of its own: a client that reconnects names the last event it saw. */
export function sseMessage(event: RecordedEvent): string {
  const cloud = cloudEvent(event);
  const id = event.kind === 'gap' ? '' : `id: ${cloud.id}\n`;
  return `${id}event: ${cloud.type}\ndata: ${JSON.stringify(cloud)}\n\n`;
}
