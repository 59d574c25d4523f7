/** For people who look: why something does not run, the last outcomes of jobs, versions of a job, and search. */
import {
  EXAMPLES,
  etagOf,
  jobRestoredAnswer,
  jobRestoredView,
  RESTORE_BODY,
  rpc,
  SEARCH_QUERY,
  STRIPS_QUERY,
  searchAnswer,
  searchView,
  stripsAnswer,
  stripsView,
  toRestoreRequest,
  toStripsQuery,
  toVersionsQuery,
  VERSIONS_QUERY,
  versionAnswer,
  versionView,
  whyAnswer,
  whyView,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, IF_MATCH, type Operation, operation, reading } from './operation.ts';

const { method: call } = rpc.JobService;
const { runId: RUN_ID, jobId: JOB_ID } = EXAMPLES;

const AT_LIMIT = {
  state: 'waiting',
  text: `The job may have 1 run at a time (max_concurrency), and has that many, such as ${RUN_ID} on the worker worker-1.`,
  reasons: [
    {
      code: 'at_limit',
      text: `The job may have 1 run at a time (max_concurrency), and has that many, such as ${RUN_ID} on the worker worker-1.`,
      since_at: '2030-01-02T08:00:00.000Z',
      until_at: null,
      held_by: [{ run_id: RUN_ID, job_id: JOB_ID, worker_id: 'worker-1' }],
      fix: `Wait until one of them has ended, cancel one (carillon runs cancel ${RUN_ID}), or allow more at a time: carillon jobs update ${JOB_ID} --concurrency 2`,
    },
  ],
  position: 1,
  estimated_start_at: '2030-01-02T08:01:10.000Z',
};

const NOT_DUE = {
  state: 'scheduled',
  text: 'It is not due yet: it starts at 2030-01-02T08:00:00.000Z.',
  reasons: [
    {
      code: 'not_due',
      text: 'It is not due yet: it starts at 2030-01-02T08:00:00.000Z.',
      ...{ since_at: null, until_at: '2030-01-02T08:00:00.000Z', held_by: [], fix: null },
    },
  ],
  ...{ position: null, estimated_start_at: '2030-01-02T08:00:00.000Z' },
};

export function insightOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/jobs/strips',
      rpc: { method: call.listStrips },
      access: 'runs.read',
      tag: 'jobs',
      summary: 'The last outcomes of several jobs',
      description:
        'For a line of marks beside each job of a list. Runs that wait are left out; of a run that was tried again its latest attempt is shown. An answer looks at three attempts for each run that is asked for, so that a job whose runs are tried again often may have fewer.',
      query: reading(STRIPS_QUERY, toStripsQuery),
      answers: {
        200: {
          description: 'The strips.',
          schema: stripsAnswer,
          example: {
            strips: [
              {
                job_id: JOB_ID,
                runs: [
                  {
                    ...{ run_id: RUN_ID, status: 'SUCCESS', attempt: 1, duration_ms: 1_250 },
                    scheduled_at: '2030-01-02T08:00:00.000Z',
                    started_at: '2030-01-02T08:00:00.020Z',
                    ended_at: '2030-01-02T08:00:01.270Z',
                  },
                ],
              },
            ],
          },
        },
      },
      handle: async ({ caller, query }) => ({ body: stripsView(await operations.listStrips(caller, query)) }),
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}/why',
      rpc: { method: call.whyJob },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Why a job does not run now',
      description:
        'Whether it is paused, not due, at its limit, without a worker, behind others, over, or running: in sentences that say what a person can do. Of a job whose runs wait, what the first of them waits for.',
      subject: 'job',
      answers: { 200: { description: 'The reasons.', schema: whyAnswer, example: NOT_DUE } },
      handle: async ({ caller, id }) => ({ body: whyView(await operations.whyJob(caller, id)) }),
    }),

    operation({
      method: 'GET',
      path: '/runs/{id}/why',
      rpc: { method: call.whyRun },
      access: 'runs.read',
      tag: 'runs',
      summary: 'Why a run waits, or how it ended',
      description:
        'What it waits for, who holds that, how many stand before it, and when it may start; or how it ended, with its dead letter. Errors are shown as far as the caller may read payloads; slots of workers are counted for callers who may read workers.',
      subject: 'run',
      answers: { 200: { description: 'The reasons.', schema: whyAnswer, example: AT_LIMIT } },
      handle: async ({ caller, id }) => ({ body: whyView(await operations.whyRun(caller, id)) }),
    }),

    operation({
      method: 'GET',
      path: '/jobs/{id}/versions',
      rpc: { method: call.listJobVersions },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Who changed a job, when, and what',
      description:
        'From the audit log, newest first, credentials redacted as there. What the engine itself changes, such as that a job has ended, is no entry. Follow the Link header until there is none: an answer looks at up to 1,000 entries of the log.',
      subject: 'job',
      cursor: 'cursor',
      query: reading(VERSIONS_QUERY, toVersionsQuery),
      answers: {
        200: {
          description: 'The versions.',
          schema: z.array(versionAnswer),
          example: [
            {
              ...{
                version: 2,
                restored_version: null,
                at: '2030-01-02T09:00:00.000Z',
                action: 'jobs.update',
              },
              actor: { kind: 'user', id: '01893f2e-1111-7b3a-9d4e-5a6b7c8d9e0f', name: 'ada' },
              changes: [{ field: 'name', before: 'Report', after: 'Weekday report' }],
            },
          ],
        },
      },
      handle: async ({ caller, id, query }) => {
        const { versions, next } = await operations.listVersions(caller, id, query);
        return {
          body: versions.map(versionView),
          list: {
            hasMore: next !== undefined,
            next: next === undefined ? undefined : String(next),
            cursorAt: (index) => String(versions[index]!.auditId),
          },
        };
      },
    }),

    operation({
      method: 'POST',
      path: '/jobs/{id}/restore',
      rpc: { method: call.restoreJob },
      access: ['jobs.read', 'jobs.update'],
      tag: 'jobs',
      summary: 'Bring back an earlier version of a job',
      description:
        'Its definition as it was, as a new version; whether it is paused, and the fires that are skipped, stay as they are. Credentials are not kept with versions: those of the job stay, and not_recorded names where. A job that runs once and gets another time that has passed runs at once. A version whose changes are not in the audit log is refused (409 version_not_recorded).',
      subject: 'job',
      headers: IF_MATCH,
      body: reading(RESTORE_BODY, toRestoreRequest),
      bodyExamples: {
        'the first one': { version: 1 },
        'only look': { version: 1, dry_run: true },
      },
      answers: {
        200: {
          description: 'The job as it is now, or what a dry run found. ETag holds the version.',
          schema: jobRestoredAnswer,
          example: {
            ...{ outcome: 'restored', dry_run: false, not_recorded: [] },
            changes: [{ field: 'name', before: 'Weekday report', after: 'Report' }],
            ...{ ...EXAMPLES.job, name: 'Report', version: 3 },
          },
        },
      },
      handle: async ({ caller, id, ifVersion, body }) => {
        const restored = await operations.restoreJob(caller, id, { ...body, ifVersion });
        return {
          body: jobRestoredView(restored, body.dryRun),
          headers: { etag: etagOf(restored.job.version) },
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/search',
      rpc: { method: call.search },
      access: 'jobs.read',
      tag: 'search',
      summary: 'Search by an id or a name',
      description:
        'Jobs, runs, workers, users and namespaces, as far as the caller may see them. Ids, the beginnings of keys, and those of the names of recurring jobs are found among everything. Names of jobs that run once, and parts of names, are looked for among the newest 10,000 jobs of each namespace or owner that the caller sees; "partial" says when there are more.',
      query: reading(SEARCH_QUERY),
      answers: {
        200: {
          description: 'What was found.',
          schema: searchAnswer,
          example: {
            hits: [
              {
                ...{ kind: 'job', id: JOB_ID, title: 'Weekday report' },
                ...{ detail: 'http, key weekday-report', namespace: 'default' },
              },
            ],
            partial: false,
          },
        },
      },
      handle: async ({ caller, query }) => ({ body: searchView(await operations.search(caller, query.q)) }),
    }),
  ];
}
