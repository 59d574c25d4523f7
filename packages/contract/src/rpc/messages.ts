/** Views as messages: what REST answers, RPC answers too, under the same names and in the same words. */
import { type DescMessage, fromJson, type MessageShape } from '@bufbuild/protobuf';
import type { JsonValue } from '@carillon/domain';
import type { auditView, callerView, keyView, namespaceView, userView } from '../rest/account-views.ts';
import type { upcomingView } from '../rest/job-answers.ts';
import type { JobView } from '../rest/job-view.ts';
import type { LogLine } from '../rest/log-view.ts';
import type { DeadLetterView, jobStatusView, RunView } from '../rest/run-view.ts';
import type { workerView } from '../rest/worker-view.ts';
import { CallerSchema, KeySchema, NamespaceSchema, UserSchema } from './generated/carillon/v1/accounts_pb.js';
import { AuditEntrySchema } from './generated/carillon/v1/audit_pb.js';
import {
  DeadLetterSchema,
  type Event,
  EventSchema,
  JobSchema,
  JobStatusSchema,
  LogLineSchema,
  RunSchema,
  ScheduleSchema,
  UpcomingJobSchema,
  WorkerSchema,
} from './generated/carillon/v1/resources_pb.js';

export function jobMessage(view: JobView) {
  const { schedule_type: type, schedule_time: time, ...rest } = view;
  const shown: Readonly<Record<string, unknown>> = { ...rest, type, time };
  const schedule = Object.fromEntries(ScheduleSchema.fields.map(({ name }) => [name, shown[name] ?? null]));
  return message(JobSchema, { ...rest, schedule });
}

export const runMessage = (view: RunView) => message(RunSchema, view);
export const deadLetterMessage = (view: DeadLetterView) => message(DeadLetterSchema, view);
export const jobStatusMessage = (view: ReturnType<typeof jobStatusView>) => message(JobStatusSchema, view);
export const upcomingMessage = (view: ReturnType<typeof upcomingView>) => message(UpcomingJobSchema, view);
export const logLineMessage = (line: LogLine) => message(LogLineSchema, line);
export const workerMessage = (view: ReturnType<typeof workerView>) => message(WorkerSchema, view);
export const namespaceMessage = (view: ReturnType<typeof namespaceView>) => message(NamespaceSchema, view);
export const userMessage = (view: ReturnType<typeof userView>) => message(UserSchema, view);
export const keyMessage = (view: ReturnType<typeof keyView>) => message(KeySchema, view);
export const callerMessage = (view: ReturnType<typeof callerView>) => message(CallerSchema, view);
export const auditMessage = (view: ReturnType<typeof auditView>) => message(AuditEntrySchema, view);
/** From the JSON of CloudEvents. */
export const eventMessage = (event: object): Event => message(EventSchema, event);

/** What a view has and its message does not is left out: REST may show more. */
function message<Schema extends DescMessage>(schema: Schema, view: object): MessageShape<Schema> {
  return fromJson(schema, view as JsonValue, { ignoreUnknownFields: true });
}
