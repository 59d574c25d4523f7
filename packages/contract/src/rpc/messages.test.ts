import { type DescMessage, toJson } from '@bufbuild/protobuf';
import {
  CATALOGUE,
  defineJob,
  type ErrorCode,
  JOB_FIELDS,
  type Job,
  type JobId,
  type RunId,
  SCHEDULE_FIELDS,
  SERVER,
} from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { callerView } from '../rest/accounts.ts';
import { deadLetterView } from '../rest/dead-letters.ts';
import { ACCOUNT_EXAMPLES, EXAMPLES } from '../rest/examples.ts';
import { parseJobBody } from '../rest/job-body.ts';
import { jobStatusView, jobView } from '../rest/jobs.ts';
import { listedRunView, runView, upcomingView } from '../rest/runs.ts';
import {
  ActorSchema,
  AuditEntrySchema,
  CallerSchema,
  DeadLetterSchema,
  GrantSchema,
  JobSchema,
  JobStatusSchema,
  jobJson,
  KeySchema,
  LogLineSchema,
  messageFrom,
  NamespaceSchema,
  RPC_STATUS,
  RunSchema,
  rpcField,
  rpcStatusOf,
  ScheduleSchema,
  SubjectSchema,
  SubmitJobRequestSchema,
  UpcomingJobSchema,
  UpdateJobRequestSchema,
  UserSchema,
  WorkerSchema,
} from './index.ts';

const NOW_MS = Date.UTC(2030, 0, 1);
const RUN = {
  runId: 'r' as RunId,
  jobId: 'j' as JobId,
  status: 'SKIPPED',
  attempt: 2,
  epoch: 3,
  trigger: 'schedule',
  isRepeat: false,
  scheduledAtMs: NOW_MS,
  createdAtMs: NOW_MS,
  startedAtMs: NOW_MS,
  endedAtMs: NOW_MS,
  modifiedAtMs: NOW_MS,
  executorId: 'w',
  error: 'boom',
  reason: 'why',
  result: '{"list":[1,null,"a"]}',
  logUrl: 'https://example.com/log',
  jobVersion: 4,
  occurrences: 5,
  lateReport: 'late',
  requestReason: 'because',
  progress: { percent: 40, message: 'half way' },
  peakMemoryBytes: 2 ** 40,
  cpuSeconds: 0.25,
  spread: undefined,
  waitsFor: undefined,
} as const;

function fullJob(fields: object): Job {
  const definition = defineJob(
    parseJobBody({
      name: 'full',
      user_id: 'ada',
      payload: { a: [1, { b: null }] },
      labels: { team: 'billing' },
      resources: { gpu: 1 },
      start_timeout_seconds: 60,
      retry: { strategy: 'exponential', delay_seconds: 1, max_delay_seconds: 60, deadline_seconds: 600 },
      misfire: { policy: 'all', max_runs: 3, window_seconds: 60 },
      ...fields,
    }),
    NOW_MS,
  );
  const times = { createdAtMs: NOW_MS, updatedAtMs: NOW_MS };
  return { ...definition, ...times, jobId: 'j' as JobId, shard: 1, version: 2, status: 'SCHEDULED' };
}

const CRON = {
  cron_expression: '0 9 * * 1-5',
  time_zone: 'Europe/Paris',
  start_at: '2030-01-02T00:00:00Z',
  end_at: '2031-01-02T00:00:00Z',
  spread_seconds: 5,
};
const FUTURE = { schedule_time: '2030-06-01T00:00:00Z' };

const names = ({ fields }: DescMessage) => fields.map(({ name }) => name).sort();

describe('what REST shows of', () => {
  test('a job, its message has, and nothing else', () => {
    const waiting = { waitingRuns: 1, waitsFor: undefined };
    const view = jobView({
      ...{ job: fullJob(CRON), status: 'RUNNING', nextRunMs: NOW_MS, waiting },
      last: { run: RUN },
      owner: { name: 'ada' },
    });
    const { schedule_type, schedule_time, ...rest } = view;
    const scheduleFields = names(ScheduleSchema);
    const shown = Object.keys({ ...rest, type: schedule_type, time: schedule_time });
    expect(shown.filter((name) => !scheduleFields.includes(name)).sort()).toEqual(
      names(JobSchema).filter((name) => name !== 'schedule'),
    );
    expect(scheduleFields.filter((name) => !shown.includes(name))).toEqual([]);
  });

  test('a run, a dead letter and a status, their messages have, and nothing else', () => {
    const listed = {
      ...runView(RUN),
      ...listedRunView({ run: RUN, job: undefined, triedAgain: true }, { results: true }),
    };
    expect(Object.keys(listed).sort()).toEqual(names(RunSchema));
    expect(messageFrom(RunSchema, runView(RUN))).toMatchObject({
      peakMemoryBytes: 2n ** 40n,
      cpuSeconds: 0.25,
    });
    const unknown = { ...RUN, peakMemoryBytes: undefined, cpuSeconds: undefined };
    const { peakMemoryBytes, cpuSeconds } = messageFrom(RunSchema, runView(unknown));
    expect([peakMemoryBytes, cpuSeconds]).toEqual([undefined, undefined]);
    const letter = {
      ...RUN,
      jobName: 'n',
      namespace: 'default',
      userId: undefined,
      reason: 'retries_exhausted',
      attempts: 1,
      diedAtMs: NOW_MS,
    } as const;
    const letterView = deadLetterView({ ...letter, redrivenAs: undefined, resolvedBy: undefined });
    expect(names(DeadLetterSchema)).toEqual(Object.keys(letterView).sort());
    expect(messageFrom(DeadLetterSchema, letterView)).toMatchObject({
      runId: 'r',
      jobName: 'n',
      redrivenAs: '',
    });
    const status = jobStatusView({
      jobId: 'j' as JobId,
      status: 'RUNNING',
      waiting: { waitingRuns: 0, waitsFor: undefined },
      lastUpdatedMs: NOW_MS,
      latestRun: RUN,
    });
    expect(names(JobStatusSchema)).toEqual(Object.keys(status).sort());
    expect(messageFrom(JobStatusSchema, status).latestRun).toMatchObject({ runId: 'r', attemptNumber: 2 });
  });

  test('a worker, what is due and a line of a log, their messages have, and nothing else', () => {
    const { worker, logs } = EXAMPLES;
    expect(names(WorkerSchema)).toEqual(Object.keys(worker).sort());
    expect(messageFrom(WorkerSchema, worker)).toMatchObject({
      workerId: worker.worker_id,
      handlers: worker.handlers,
    });
    const upcoming = upcomingView({ job: fullJob(CRON), runAtMs: NOW_MS });
    expect(names(UpcomingJobSchema)).toEqual(Object.keys(upcoming).sort());
    expect(messageFrom(UpcomingJobSchema, upcoming)).toMatchObject({ jobId: 'j', userId: 'ada' });
    expect(names(LogLineSchema)).toEqual(Object.keys(logs[0]!).sort());
    expect(messageFrom(LogLineSchema, logs[0]!)).toMatchObject({ message: logs[0]!.message });
  });

  test('namespaces, users, keys and the audit log, their messages have, and nothing else', () => {
    const { namespace, user, key, audit } = ACCOUNT_EXAMPLES;
    expect(names(NamespaceSchema)).toEqual(Object.keys(namespace).sort());
    expect(names(UserSchema)).toEqual(Object.keys(user).sort());
    expect(names(GrantSchema)).toEqual(Object.keys(user.grants[0]!).sort());
    expect(names(KeySchema)).toEqual(Object.keys(key).sort());
    expect(names(AuditEntrySchema)).toEqual(Object.keys(audit).sort());
    expect(names(ActorSchema)).toEqual(Object.keys(audit.actor).sort());
    expect(names(SubjectSchema)).toEqual(Object.keys(audit.subject).sort());
  });

  test('the caller, its message has, but for what is of a session and what the page shows', () => {
    const { csrf_token: _, method: __, command_flags: ___, ...caller } = callerView(SERVER, undefined);
    expect(names(CallerSchema)).toEqual(Object.keys(caller).sort());
  });
});

test('a message says what the view says', () => {
  for (const fields of [CRON, FUTURE, { interval: '15m' }, { frequency: 'daily' }, {}]) {
    const view = jobView({ job: fullJob(fields), status: 'SCHEDULED', nextRunMs: NOW_MS });
    const { schedule, ...job } = toJson(JobSchema, messageFrom(JobSchema, jobJson(view)), {
      useProtoFieldName: true,
    }) as Record<string, unknown>;
    const { type, time, ...rest } = schedule as Record<string, unknown>;
    const said = { ...job, ...rest, schedule_type: type, schedule_time: time };
    for (const [name, value] of Object.entries(said)) {
      const shown = (view as Record<string, unknown>)[name];
      if (typeof value === 'string' && value.endsWith('Z')) {
        expect(Date.parse(value)).toBe(Date.parse(String(shown)));
      } else expect([name, value ?? null]).toEqual([name, shown ?? null]);
    }
  }
  expect(messageFrom(RunSchema, runView(RUN)).result).toMatchObject({ kind: { case: 'structValue' } });
});

test('every field of a job can be set by the messages that create and change jobs', () => {
  const own = Object.keys(JOB_FIELDS).filter((name) => !(name in SCHEDULE_FIELDS));
  expect(own.filter((name) => !names(SubmitJobRequestSchema).includes(name))).toEqual([]);
  // A job cannot move to another namespace.
  expect(own.filter((name) => !names(UpdateJobRequestSchema).includes(name))).toEqual(['namespace']);
});

test('every refusal of the catalogue has a status', () => {
  for (const code of Object.keys(CATALOGUE) as ErrorCode[]) {
    expect([code, RPC_STATUS[rpcStatusOf(code) ?? ('none' as never)]]).toEqual([code, expect.any(Number)]);
  }
});

test.each([
  ['cron_expression', 'schedule.cron_expression'],
  ['schedule_time', 'schedule.time'],
  ['daylight_saving.gap', 'schedule.daylight_saving.gap'],
  ['payload.a[0]', 'payload.a[0]'],
  ['If-Match', 'expected_version'],
])('the field %s is called %s', (field, called) => {
  expect(rpcField(field)).toBe(called);
});
