/** Actions on jobs and what became of them: run, pause, resume, in bulk; status and log; what a schedule means. */
import {
  BULK_BODY,
  bulkAnswer,
  bulkView,
  EXAMPLES,
  type JobView,
  jobActedAnswer,
  jobLogsAnswer,
  jobStatusAnswer,
  jobStatusView,
  LOGS_QUERY,
  logLines,
  type Outcome,
  PREVIEW_BODY,
  previewAnswer,
  previewView,
  RUN_BODY,
  rpc,
  runAddedAnswer,
  toBulkRequest,
  toPreviewRequest,
  toRunRequest,
} from '@carillon/contract';
import { actedReply, userNamed } from './jobs.ts';
import {
  type ApiContext,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  type Operation,
  operation,
  PREFER,
  reading,
} from './operation.ts';

const { method: call } = rpc.JobService;
const acted = (outcome: Outcome, status: JobView['status']) => ({
  schema: jobActedAnswer,
  example: { ...EXAMPLES.job, status, outcome, changed: true },
});
const ADDED = { schema: runAddedAnswer, example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId } };

export function jobActionOperations({ operations, charge }: ApiContext): Operation[] {
  return [
    operation({
      method: 'POST',
      path: '/jobs/{id}/runNow',
      rpc: { method: call.runJobNow },
      access: 'jobs.run',
      tag: 'jobs',
      summary: 'Run a job at once',
      description:
        'Past its schedule, also while it is paused. Its limits hold. The body may be left out. Retries of the run, and runs that repeat it, have the same input. An Idempotency-Key belongs to its caller: another caller with the same key adds another run.',
      subject: 'job',
      headers: IDEMPOTENCY_KEY,
      body: reading(RUN_BODY, toRunRequest),
      bodyOptional: true,
      bodyExamples: {
        'with an input': { input: { body: { kind: 'catch-up' } }, reason: 'Tuesday was missed' },
      },
      answers: {
        202: { description: 'A run was added.', ...ADDED },
        200: { description: 'Added before, under the same Idempotency-Key.', ...ADDED },
      },
      handle: async ({ caller, id, idempotencyKey, body }) => {
        const { jobId, runId, added } = await operations.runJobNow(caller, id, { ...body, idempotencyKey });
        return { status: added ? 202 : 200, body: { job_id: jobId, run_id: runId }, also: { added } };
      },
    }),

    operation({
      method: 'POST',
      path: '/jobs/{id}/pause',
      rpc: { method: call.pauseJob },
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Pause a job',
      subject: 'job',
      headers: { ...IF_MATCH, ...PREFER },
      answers: { 200: { description: 'Paused: the job.', ...acted('paused', 'PAUSED') } },
      handle: async (call) => {
        const { caller, id, ifVersion } = call;
        const job = await operations.pauseJob(caller, id, { ifVersion });
        return actedReply(operations, call, { job, outcome: 'paused' });
      },
    }),

    operation({
      method: 'POST',
      path: '/jobs/{id}/resume',
      rpc: { method: call.resumeJob },
      access: 'jobs.pause',
      tag: 'jobs',
      summary: 'Resume a paused job',
      subject: 'job',
      headers: { ...IF_MATCH, ...PREFER },
      answers: { 200: { description: 'Resumed: the job.', ...acted('resumed', 'SCHEDULED') } },
      handle: async (call) => {
        const { caller, id, ifVersion } = call;
        const job = await operations.resumeJob(caller, id, { ifVersion });
        return actedReply(operations, call, { job, outcome: 'resumed' });
      },
    }),

    operation({
      method: 'POST',
      path: '/jobs/{id}/cancel',
      rpc: { method: call.cancelJob },
      access: 'jobs.cancel',
      tag: 'jobs',
      summary: 'Cancel a job for good',
      description:
        'What waits ends, what runs is asked to stop, nothing is tried again. A job that is over is left as it is and refused (409 job_already_finished).',
      subject: 'job',
      headers: { ...IF_MATCH, ...PREFER },
      answers: { 200: { description: 'Cancelled: the job.', ...acted('cancelled', 'CANCELLED') } },
      handle: async (call) => {
        const { caller, id, ifVersion } = call;
        const job = await operations.cancelJob(caller, id, { ifVersion });
        return actedReply(operations, call, { job, outcome: 'cancelled' });
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}/status',
      rpc: { method: call.getJobStatus },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'How a job is doing',
      subject: 'job',
      answers: {
        200: {
          description: 'Its status and its latest run.',
          schema: jobStatusAnswer,
          example: {
            job_id: EXAMPLES.jobId,
            status: 'pending',
            updated_at: EXAMPLES.run.updated_at,
            last_updated: EXAMPLES.run.updated_at,
            latest_run: EXAMPLES.run,
            waiting_runs: 0,
            waiting_reason: null,
          },
        },
      },
      handle: async ({ caller, id }) => {
        const { job, ...status } = await operations.getJobStatus(caller, id);
        return { body: jobStatusView({ jobId: job.jobId, ...status }) };
      },
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}/logs',
      rpc: { method: call.getJobLogs, names: { logs: 'lines' } },
      access: 'runs.read',
      tag: 'jobs',
      summary: 'The story of a job, line by line',
      description: 'Told from its latest attempts: handed out, started, ended, error, result.',
      subject: 'job',
      query: reading(LOGS_QUERY),
      answers: {
        200: {
          description: 'The lines, in the order things happened.',
          schema: jobLogsAnswer,
          example: { job_id: EXAMPLES.jobId, logs: EXAMPLES.logs },
        },
      },
      handle: async ({ caller, id, query }) => ({
        body: { job_id: id, logs: logLines(await operations.getJobLogs(caller, id, query)) },
      }),
    }),

    operation({
      method: 'POST',
      path: '/jobs/bulk',
      isBulk: true,
      rpc: { method: call.bulkChangeJobs, names: { next: 'next_page_token' } },
      access: ['jobs.pause', 'jobs.cancel'],
      tag: 'jobs',
      summary: 'Pause, resume or cancel many jobs',
      description:
        'Those of a filter, or those named in job_ids; results says what became of each. One request does up to 1,000 jobs; "next" of the answer, sent as "cursor", goes on with the rest of a filter. Without a status, pause means scheduled jobs, resume paused ones, cancel both, running or not. Pausing and resuming ask for jobs.pause, cancelling for jobs.cancel.',
      cursor: 'cursor',
      body: reading(BULK_BODY, toBulkRequest),
      bodyExamples: {
        'dry run': { action: 'pause', filter: { label: 'team:billing' }, dry_run: true },
        cancel: { action: 'cancel', filter: { user_id: 'u003', status: 'paused' } },
        'by ids': { action: 'resume', job_ids: [EXAMPLES.jobId] },
      },
      answers: {
        200: {
          description: 'What was done, or would be.',
          schema: bulkAnswer,
          example: {
            action: 'pause',
            dry_run: true,
            matched: 1,
            changed: 0,
            unchanged: 0,
            refused: 0,
            job_ids: [EXAMPLES.jobId],
            jobs: [EXAMPLES.jobId],
            results: [],
            next: null,
          },
        },
      },
      handle: async ({ caller, body: { of, ...request } }) => {
        const named = of.selection && {
          ...of,
          selection: { ...of.selection, userId: userNamed(caller, of.selection.userId) },
        };
        const report = await operations.bulkJobs(caller, {
          ...{ ...request, of: named ?? of },
          charge: (items) => charge(caller, items),
        });
        return { body: bulkView(request, report) };
      },
    }),

    operation({
      method: 'POST',
      path: '/schedules/preview',
      rpc: { method: call.previewSchedule, input: rpc.previewFields },
      access: 'schedules.preview',
      tag: 'schedules',
      summary: 'What a schedule means',
      description:
        'The schedule fields of a job, in words and in its next instants, with warnings where a change of the clock within a year skips or repeats a planned time, or where the zone (EST, MST) has no daylight saving time. A schedule that never fires is refused.',
      body: reading(PREVIEW_BODY, toPreviewRequest),
      bodyExamples: {
        cron: { cron_expression: '0 9 * * 1-5', time_zone: 'Europe/Paris', count: 1 },
        interval: { interval: '15m', count: 3, after: '2030-01-01T00:00:00Z' },
      },
      answers: {
        200: { description: 'The preview.', schema: previewAnswer, example: EXAMPLES.preview },
      },
      handle: async ({ caller, body }) => ({
        body: previewView(await operations.previewSchedule(caller, body)),
      }),
    }),
  ];
}
