/**
 * Writes packages/client/src/generated/types.ts from the schemas of the contract: the table below says which exported type
 * is which schema. Run it (`npm run generate`) when a schema changes; a test compares the file with what is rendered here.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import * as contract from '../packages/contract/src/index.ts';
import {
  CATALOGUE,
  DEAD_REASONS,
  FREQUENCY_WORDS,
  JOB_SORT_KEYS,
  JOB_STATES,
  PRIORITIES,
  ROLES,
  RUN_STATUSES,
  SHOWN_JOB_STATUSES,
} from '../packages/domain/src/index.ts';
import { as, renderTypes, type TypeSource } from './render-types.ts';

export const CLIENT_TYPES = join(import.meta.dirname, '../packages/client/src/generated/types.ts');

type Facts = Pick<TypeSource, 'comment' | 'extends'>;
const sent = (schema: z.ZodType, facts: Facts = {}): TypeSource => ({ schema, io: 'input', ...facts });
const answered = (schema: z.ZodType, facts: Facts = {}): TypeSource => ({ schema, io: 'output', ...facts });

const { schedule_type, frequency } = contract.JOB_BODY.schema.shape;
/** Sent in more spellings than the schema tells apart; and a text in the schema, so that a refusal can name the word. */
const scheduleWords = {
  schedule_type: as(schedule_type, "ScheduleType | 'one_time' | 'one-time' | 'recurring' | null"),
  frequency: as(frequency, `${FREQUENCY_WORDS.map((word) => `'${word}'`).join(' | ')} | null`),
};
const jobFields = contract.JOB_BODY.schema.extend(scheduleWords);
const previewFields = contract.PREVIEW_BODY.schema.extend(scheduleWords);

const jobsQuery = contract.JOBS_QUERY.schema;
const keysQuery = contract.KEYS_QUERY.schema;
const runsQuery = contract.ALL_RUNS_QUERY.schema;
const auditQuery = contract.AUDIT_QUERY.schema;
const deadLettersQuery = contract.DEAD_LETTERS_QUERY.schema;
const event = contract.eventAnswer;
const batchEntry = contract.batchAnswer.element;
const [, jobActedShort] = contract.jobActedAnswer.options;
const jobChanged = contract.jobAnswer.partial().extend(jobActedShort.shape);
const DATE = 'Date | string';

const TYPES: Readonly<Record<string, TypeSource>> = {
  ScheduleType: answered(contract.jobAnswer.shape.schedule_type),
  JobStatus: answered(z.enum(SHOWN_JOB_STATUSES)),
  JobState: answered(z.enum(JOB_STATES)),
  Priority: answered(z.enum(PRIORITIES)),
  RunStatus: answered(z.enum(RUN_STATUSES)),
  DeadReason: answered(z.enum(DEAD_REASONS)),
  Role: answered(z.enum(ROLES)),
  JobSort: sent(z.enum(['created_at', ...JOB_SORT_KEYS]), {
    comment: 'Other orders than that of creation are given for up to 10,000 jobs.',
  }),
  Instant: sent(z.union([z.string(), z.number()]), {
    comment: 'ISO 8601 text, or a UNIX timestamp in seconds.',
  }),

  ScheduleFields: sent(
    previewFields.omit({ count: true, after: true, until: true, job_id: true, namespace: true }),
    {
      comment: 'Everything about when a job runs.',
    },
  ),
  PreviewRequest: sent(previewFields, { extends: 'ScheduleFields' }),
  SchedulePreview: answered(contract.previewAnswer),
  JobFields: sent(jobFields, {
    comment: 'What a job can be given; null means the default.',
    extends: 'ScheduleFields',
  }),
  NewJob: sent(jobFields.extend({ name: z.string().describe(jobFields.shape.name.description ?? '') }), {
    extends: 'JobFields',
  }),
  KeyedJob: sent(jobFields.extend({ key: z.string().describe(jobFields.shape.key.description ?? '') }), {
    extends: 'JobFields',
  }),
  Job: answered(contract.jobAnswer, {
    comment: 'Fields that the schedule of the job does not use are null.',
  }),
  JobFilter: sent(
    jobsQuery.omit({ after: true, page: true }).extend({
      created_after: as(jobsQuery.shape.created_after, DATE),
      created_before: as(jobsQuery.shape.created_before, DATE),
      type: as(jobsQuery.shape.type, 'string').describe('A schedule type, `one_time` or `recurring`.'),
    }),
  ),
  JobCreated: answered(jobChanged.extend({ created: z.boolean() }), {
    comment: 'created false: accepted before, under the same key.',
    extends: 'JobChanged',
  }),
  BatchAnswer: answered(batchEntry, { comment: 'One entry of a batch: accepted, or refused and why.' }),
  ErrorCode: answered(z.enum(Object.keys(CATALOGUE) as [string, ...string[]]), {
    comment: 'What a server of this version refuses with. A newer one may know more.',
  }),
  Problem: answered(contract.problemAnswer),
  JobChanged: answered(jobChanged, {
    comment: 'The job after a change. A key that may not read jobs gets only its id, status and version.',
  }),
  JobRemoved: answered(contract.jobRemovedAnswer),
  JobApplied: answered(contract.jobAppliedAnswer),
  JobStatusReport: answered(contract.jobStatusAnswer),
  UpcomingRun: answered(contract.upcomingAnswer),
  BulkRequest: sent(contract.BULK_BODY.schema),
  BulkReport: answered(contract.bulkAnswer),
  BulkRunsRequest: sent(contract.BULK_RUNS_BODY.schema),
  BulkRunsReport: answered(contract.bulkRunsAnswer),
  Why: answered(contract.whyAnswer, { comment: 'Why a job or a run does not run now, or how it ended.' }),
  Strip: answered(contract.stripsAnswer.shape.strips.element, { comment: 'The last outcomes of a job.' }),
  SearchResult: answered(contract.searchAnswer),
  JobRestored: answered(contract.jobRestoredAnswer),
  JobVersion: answered(contract.versionAnswer),

  Run: answered(contract.runAnswer, {
    comment: 'One attempt of one occurrence; the attempts of an occurrence share the `run_id`.',
  }),
  ListedJob: answered(contract.listedJobAnswer, {
    comment: 'A job of a list: its payload is there only when it was asked for.',
  }),
  ShortRun: answered(contract.shortRunAnswer, {
    comment: 'A run of a list: its result is there only when it was asked for.',
  }),
  ListedRun: answered(contract.listedRunAnswer, { comment: 'A run with its job.', extends: 'ShortRun' }),
  RunFilter: sent(
    runsQuery.extend({
      since: as(runsQuery.shape.since, DATE).describe('An instant, or how long ago, such as `1h`.'),
      until: as(runsQuery.shape.until, DATE).describe('An instant, or how long ago.'),
    }),
  ),
  RunWithAttempts: answered(contract.runDetailsAnswer, { extends: 'Run' }),
  Progress: answered(contract.progressAnswer),
  Checkpoint: answered(contract.checkpointFactsAnswer),
  CheckpointValue: answered(contract.checkpointAnswer, { extends: 'Checkpoint' }),
  Artifact: answered(contract.artifactAnswer, { comment: 'A file that a run left.' }),
  RunAdded: answered(contract.runAddedAnswer),
  RunRequest: sent(contract.RUN_BODY.schema, { comment: 'What may be said when a run is asked for.' }),
  RunCancelled: answered(contract.runCancelledAnswer, {
    comment: '`cancelling`: the worker was asked, and has not answered yet.',
  }),
  LogLine: answered(contract.jobLogsAnswer.shape.logs.element),
  Logs: answered(contract.runLogsAnswer.partial({ run_id: true })),
  DeadLetter: answered(contract.deadLetterAnswer),
  DeadLetterFilter: sent(
    deadLettersQuery.omit({ before: true }).extend({
      died_after: as(deadLettersQuery.shape.died_after, DATE),
      died_before: as(deadLettersQuery.shape.died_before, DATE),
    }),
  ),
  Redriven: answered(contract.redrivenAnswer, { extends: 'RunAdded' }),
  RedriveManyRequest: sent(contract.REDRIVE_BODY.schema),
  RedriveManyReport: answered(contract.redriveReportAnswer),
  StatsFilter: sent(
    contract.STATS_QUERY.schema.extend({
      from: as(contract.STATS_QUERY.schema.shape.from, DATE).describe(
        'An instant, or how long ago, such as `6h`.',
      ),
      to: as(contract.STATS_QUERY.schema.shape.to, DATE).describe(
        'An instant, or how long ago. Left out: now.',
      ),
    }),
  ),
  RunStats: answered(contract.statsAnswer),
  StatsNow: answered(contract.statsNowAnswer),
  FailureFilter: sent(
    contract.FAILURES_QUERY.schema.extend({
      from: as(contract.FAILURES_QUERY.schema.shape.from, DATE).describe(
        'An instant, or how long ago, such as `6h`.',
      ),
      to: as(contract.FAILURES_QUERY.schema.shape.to, DATE).describe(
        'An instant, or how long ago. Left out: now.',
      ),
    }),
  ),
  FailureGroup: answered(contract.failureAnswer, { comment: 'Failures that are alike.' }),
  Worker: answered(contract.workerAnswer),
  Handler: answered(contract.handlerAnswer, { comment: 'What jobs can name as their `handler`.' }),

  CarillonEvent: answered(
    event.extend({
      id: event.shape.id.describe('A stream that is given it continues after this event.'),
      data: as(event.shape.data, '{ readonly [name: string]: Json | undefined }'),
    }),
    { comment: 'What happened, as a CloudEvent.' },
  ),
  LiveUpdate: answered(contract.liveAnswer, {
    comment: 'What to read again. `refetch`: more changed than is named.',
  }),
  EventSelection: sent(contract.EVENTS_QUERY.schema.omit({ last_event_id: true, cursor: true, limit: true })),

  Grant: sent(contract.GRANTS_BODY.schema.shape.grants.element),
  User: answered(contract.userAnswer),
  NewUser: sent(contract.USER_BODY.schema),
  UserChange: sent(contract.USER_CHANGE.schema),
  PasswordChange: sent(contract.PASSWORD_BODY.schema),
  Credentials: sent(contract.SIGN_IN_BODY.schema.pick({ name: true, password: true }).required()),
  SignIn: sent(contract.SIGN_IN_BODY.schema, {
    comment: 'One way of signing in: `name` and `password`, or `ticket`, or `key`.',
  }),
  SignInMethods: answered(contract.sessionMethodsAnswer),
  NewKey: sent(contract.KEY_BODY.schema),
  ApiKey: answered(contract.keyAnswer),
  KeyChange: sent(contract.KEY_CHANGE.schema),
  KeyRotation: sent(contract.ROTATE_KEY_BODY.schema),
  KeyFilter: sent(
    keysQuery.omit({ after: true }).extend({ unused_since: as(keysQuery.shape.unused_since, DATE) }),
  ),
  UserFilter: sent(contract.USERS_QUERY.schema.omit({ after: true })),
  UserSession: answered(contract.sessionAnswer, { comment: 'Somebody who is signed in.' }),
  SessionFilter: sent(contract.SESSIONS_QUERY.schema.omit({ after: true })),
  CreatedKey: answered(contract.createdKeyAnswer, { extends: 'ApiKey' }),
  SigningKey: answered(contract.signingKeyAnswer),
  NewSigningKey: sent(contract.SIGNING_KEY_BODY.schema),
  CreatedSigningKey: answered(contract.createdSigningKeyAnswer, { extends: 'SigningKey' }),
  Secret: answered(contract.secretAnswer),
  SecretFilter: sent(contract.SECRETS_QUERY.schema),
  SavedView: answered(contract.viewAnswer, { comment: 'The filters and the order of a list, under a name.' }),
  SavedViewFields: sent(contract.VIEW_BODY.schema),
  Preferences: answered(contract.preferencesAnswer),
  PreferencesChange: sent(contract.PREFERENCES_BODY.schema),
  Namespace: answered(contract.namespaceAnswer),
  NewNamespace: sent(contract.NAMESPACE_BODY.schema),
  NamespaceChange: sent(contract.NAMESPACE_CHANGE.schema),
  AuditEntry: answered(contract.auditAnswer),
  AuditFilter: sent(
    auditQuery
      .omit({ before: true })
      .extend({ from: as(auditQuery.shape.from, DATE), until: as(auditQuery.shape.until, DATE) }),
  ),
  Whoami: answered(contract.callerAnswer, { comment: 'Whoever asks, as the server sees them.' }),
  SignedIn: answered(contract.signedInAnswer),
};

/** What is written as string: a newer server has more of these, or reads them in several spellings. */
const OPEN: ReadonlySet<z.core.$ZodType> = new Set<z.core.$ZodType>([
  contract.problemAnswer.shape.code,
  event.shape.type,
  event.shape.datacontenttype,
  jobsQuery.shape.type,
  deadLettersQuery.shape.reason,
  contract.KEY_BODY.schema.shape.scopes.unwrap().unwrap().element,
]);

const HEADING = `/** Written by scripts/generate-client-types.ts from the schemas of packages/contract: edit those, then \`npm run generate\`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

`;

export function renderClientTypes(): string {
  return HEADING + renderTypes(TYPES, OPEN);
}

if (import.meta.main) {
  await mkdir(dirname(CLIENT_TYPES), { recursive: true });
  await writeFile(CLIENT_TYPES, renderClientTypes());
}
