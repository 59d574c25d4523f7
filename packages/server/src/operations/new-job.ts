/** A job and its first pending row, made from a request: what the way in takes. The same for one job and for a thousand. */
import {
  type Caller,
  defineJob,
  homeOf,
  isNamespaceName,
  type Job,
  type JobId,
  type JobInput,
  may,
  Refusal,
  requireMay,
  shardOf,
} from '@carillon/domain';
import type { InsertedJob, NewJob } from '../storage/job-store.ts';
import { namespaceNotFound } from './accounts/known-namespaces.ts';
import { auditEntry, type Change } from './audit-log.ts';
import type { OperationPorts } from './operation-ports.ts';
import { planFirst } from './plan-first.ts';
import { requestHash } from './request-hash.ts';

/** created false: this request was accepted before, under the same idempotency key. */
export interface CreatedJob {
  readonly jobId: JobId;
  readonly created: boolean;
}

const NONE: ReadonlySet<string> = new Set();

/** Which of the namespaces that are asked for do not exist. Those in use are remembered, so this hardly ever waits. */
export async function missingNamespaces(
  inputs: readonly JobInput[],
  { caller, ports }: { caller: Caller; ports: Pick<OperationPorts, 'accounts'> },
): Promise<ReadonlySet<string>> {
  const { namespaces } = ports.accounts;
  const home = homeOf(caller);
  const unknown = inputs
    .map((input) => input.namespace ?? home)
    .filter(
      (name) =>
        isNamespaceName(name) &&
        !namespaces.has(name) &&
        may(caller, 'jobs.create', { namespace: name, userId: caller.userId }),
    );
  return unknown.length === 0 ? NONE : new Set(await namespaces.missing(unknown));
}

export function newJob(
  input: JobInput,
  {
    caller,
    idempotencyKey,
    missing,
    nowMs,
    ports,
  }: {
    caller: Caller;
    idempotencyKey: string | undefined;
    /** The same for all jobs of one request: the audit log keeps them as one. */
    nowMs: number;
    /** Namespaces that do not exist, as missingNamespaces found. */
    missing: ReadonlySet<string>;
    ports: OperationPorts;
  },
): NewJob {
  const definition = defineJob(
    {
      ...input,
      namespace: input.namespace ?? homeOf(caller),
      userId: input.userId ?? caller.userId,
    },
    nowMs,
  );
  requireMay(caller, 'jobs.create', definition);
  if (missing.has(definition.namespace)) throw namespaceNotFound(definition.namespace, 'namespace');
  const jobId = ports.random.id() as JobId;
  const first = planFirst({ jobId, schedule: definition.schedule, nowMs, isNew: true });
  if (!first) throw new Refusal('schedule_never_fires', 'The schedule has no occurrence from now on.');
  const job: Job = {
    ...definition,
    jobId,
    shard: shardOf(jobId),
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const { namespace, userId } = definition;
  const idempotency =
    idempotencyKey === undefined
      ? undefined
      : {
          // People know nothing of each other's keys. No key that a client chooses can hold a space.
          key: caller.userId === undefined ? idempotencyKey : `${caller.userId}  ${idempotencyKey}`,
          requestHash: requestHash({ ...input, namespace, userId }),
        };
  return { job, first, idempotency, audit: auditEntry(caller, createdChange(job), nowMs) };
}

export function createdJob(
  inserted: InsertedJob,
  { job: { namespace } }: Pick<NewJob, 'job'>,
  { accounts }: Pick<OperationPorts, 'accounts'>,
): CreatedJob {
  if (inserted.kind === 'homeless') {
    accounts.namespaces.forget(namespace);
    throw namespaceNotFound(namespace, 'namespace');
  }
  if (inserted.kind === 'conflict') {
    const message = `The Idempotency-Key was used before, for another request (job ${inserted.jobId}).`;
    throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
  }
  return { jobId: inserted.jobId, created: inserted.kind === 'inserted' };
}

function createdChange({ jobId, namespace, name, handler, schedule }: Job): Change {
  const after = { name, handler, scheduleType: schedule.type };
  return { action: 'jobs.create', namespace, subject: { kind: 'job', id: jobId }, after };
}
