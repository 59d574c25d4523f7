/** Events as they are sent: CloudEvents 1.0 in JSON, with data spelled like every other answer. */
import { EVENT_KINDS, type EventKind, type RecordedEvent, RUN_STATUSES, writePlace } from '@carillon/domain';
import { z } from 'zod';
import { instantText } from './instant-text.ts';

export const EVENT_TYPE_PREFIX = 'io.carillon.';
const SOURCE = 'carillon';

const instant = z.iso.datetime();
const uuid = z.string();

const jobData = z.strictObject({
  job_id: uuid,
  name: z.string().nullable(),
  namespace: z.string().nullable(),
  user_id: z.string().nullable(),
  handler: z.string().nullable(),
  schedule_type: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
});

const runData = z.strictObject({
  run_id: uuid,
  job_id: uuid,
  job_name: z.string().nullable(),
  namespace: z.string().nullable(),
  user_id: z.string().nullable(),
  handler: z.string().nullable(),
  status: z.enum(RUN_STATUSES),
  attempt_number: z.int(),
  epoch: z.int(),
  trigger: z.string(),
  scheduled_at: instant,
  start_time: instant.nullable(),
  end_time: instant.nullable(),
  executor_id: z.string().nullable(),
  error_message: z.string().nullable(),
  reason: z.string().nullable(),
  occurrences: z.int(),
  retry_at: instant.nullable().describe('Of run.retrying: when the next attempt is due.'),
  dead_reason: z.string().nullable().describe('Of run.dead_lettered: why it was given up.'),
});

const memberData = z.strictObject({ worker_id: z.string().nullable(), node_id: z.string() });
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
    data: z.union([runData, jobData, memberData, gapData]),
  })
  .meta({ id: 'Event' });

export type CloudEvent = z.output<typeof eventAnswer>;

export function typeOfKind(kind: EventKind): string {
  return `${EVENT_TYPE_PREFIX}${kind}`;
}

export function cloudEvent(event: RecordedEvent): CloudEvent {
  const place = writePlace(event.place);
  const subject = subjectOf(event);
  return {
    specversion: '1.0',
    id: event.kind === 'gap' ? `gap-${place}` : place,
    source: SOURCE,
    type: typeOfKind(event.kind),
    ...(subject !== undefined && { subject }),
    time: instantText(event.atMs),
    datacontenttype: 'application/json',
    data: dataOf(event),
  };
}

function subjectOf({ job, run, member }: RecordedEvent): string | undefined {
  if (run) return `runs/${run.runId}`;
  if (job) return `jobs/${job.jobId}`;
  if (!member) return undefined;
  return member.workerId === undefined ? `nodes/${member.nodeId}` : `workers/${member.workerId}`;
}

function dataOf({ job, run, member }: RecordedEvent): CloudEvent['data'] {
  if (run) {
    return {
      run_id: run.runId,
      job_id: run.jobId,
      job_name: job?.name ?? null,
      namespace: job?.namespace ?? null,
      user_id: job?.userId ?? null,
      handler: job?.handler ?? null,
      status: run.status,
      attempt_number: run.attempt,
      epoch: run.epoch,
      trigger: run.trigger,
      scheduled_at: instantText(run.scheduledAtMs),
      start_time: instantText(run.startedAtMs),
      end_time: instantText(run.endedAtMs),
      executor_id: run.executorId ?? null,
      error_message: run.error ?? null,
      reason: run.reason ?? null,
      occurrences: run.occurrences,
      retry_at: instantText(run.retryAtMs),
      dead_reason: run.deadReason ?? null,
    };
  }
  if (job) {
    return {
      job_id: job.jobId,
      name: job.name,
      namespace: job.namespace,
      user_id: job.userId ?? null,
      handler: job.handler ?? null,
      schedule_type: job.scheduleType ?? null,
      labels: job.labels,
    };
  }
  if (member) return { worker_id: member.workerId ?? null, node_id: member.nodeId };
  return { message: 'Events between the last one you saw and the next one you get may have been missed.' };
}

/** One event as a message of a stream. A gap has no id of its own: whoever comes back names the last event seen. */
export function sseMessage(event: RecordedEvent): string {
  const cloud = cloudEvent(event);
  const id = event.kind === 'gap' ? '' : `id: ${cloud.id}\n`;
  return `${id}event: ${cloud.type}\ndata: ${JSON.stringify(cloud)}\n\n`;
}
