/** Jobs by the key that their caller chose: read one, create or replace it. */
import {
  APPLY_QUERY,
  EXAMPLES,
  etagOf,
  JOB_BODY,
  JOB_KEY_QUERY,
  jobAnswer,
  jobAppliedAnswer,
  jobAppliedView,
  jobView,
  rpc,
  toJobInput,
} from '@carillon/contract';
import { type JobInput, readJobKey, refuseValue } from '@carillon/domain';
import type { AppliedJob, ApplyRequest } from '../../operations/jobs/apply-job.ts';
import {
  type ApiContext,
  type Operation,
  operation,
  type Reply,
  reading,
  restOperation,
} from './operation.ts';

const EXAMPLE = { ...EXAMPLES.job, key: 'weekday-report' };

export function jobKeyOperations({ operations, address }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/jobs/by-key/{key}',
      rpc: { method: rpc.JobService.method.getJobByKey },
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'Read the job that has a key',
      subject: 'job key',
      query: reading(JOB_KEY_QUERY),
      answers: {
        200: { description: 'The job. ETag holds its version.', schema: jobAnswer, example: EXAMPLE },
      },
      handle: async ({ caller, id, query: { namespace } }) => {
        const details = await operations.getJobByKey(caller, { namespace, key: readJobKey(id, 'key') });
        return { body: jobView(details), headers: { etag: etagOf(details.job.version) } };
      },
    }),

    // Over RPC, the definition is a message of its own.
    restOperation({
      method: 'PUT',
      path: '/jobs/by-key/{key}',
      calls: [rpc.JobService.method.applyJob],
      access: ['jobs.create', 'jobs.update'],
      tag: 'jobs',
      summary: 'Create the job that has a key, or replace it',
      description:
        'The body is the complete definition: fields that are left out return to their defaults. The same definition again changes nothing. A paused job stays paused, one that has ended stays so unless its schedule changes, and a cancelled one comes back. A new job asks for jobs.create, one that is there for jobs.update.',
      subject: 'job key',
      query: reading(APPLY_QUERY),
      body: reading(JOB_BODY, toJobInput),
      bodyExamples: { report: EXAMPLES.jobBodies.cron },
      answers: {
        200: {
          description: 'Replaced, or unchanged; or what a dry run found. ETag holds the version.',
          schema: jobAppliedAnswer,
          example: { outcome: 'unchanged', dry_run: false, changes: [], ...EXAMPLE },
        },
        201: {
          description: 'Created. Location names the job.',
          schema: jobAppliedAnswer,
          example: { outcome: 'created', dry_run: false, changes: [], ...EXAMPLE },
        },
      },
      handle: async ({ caller, id, query, body }) => {
        const { dry_run: dryRun = false } = query;
        const request = applyRequest({ ...body, key: body.key ?? id }, dryRun);
        if (request.key !== id)
          refuseValue('key', 'key is another one than that of the path.', 'field_conflict');
        const namespace = sameOr(query.namespace, request.namespace);
        const applied = await operations.applyJob(caller, { ...request, namespace });
        const isCreated = applied.outcome === 'created' && !dryRun;
        return {
          ...applyReply(applied, dryRun),
          status: isCreated ? 201 : 200,
          headers: {
            etag: etagOf(applied.job.version),
            ...(isCreated && { location: `${address}/api/jobs/${applied.job.jobId}` }),
          },
        };
      },
    }),
  ];
}

/** The key and the namespace stand in the input. */
export function applyRequest(input: JobInput, dryRun: boolean): ApplyRequest {
  const { key, namespace } = input;
  if (key == null) return refuseValue('key', 'A job that is applied needs a key.', 'field_missing');
  return { key: readJobKey(key, 'key'), namespace: namespace ?? undefined, input, dryRun };
}

export function applyReply(applied: AppliedJob, dryRun: boolean): Reply {
  return { body: jobAppliedView(applied, dryRun) };
}

function sameOr(inQuery: string | undefined, inBody: string | undefined): string | undefined {
  if (inQuery !== undefined && inBody !== undefined && inQuery !== inBody)
    refuseValue('namespace', 'namespace is another one in the body than in the query.', 'field_conflict');
  return inQuery ?? inBody;
}
