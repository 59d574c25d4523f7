/** A job and its first pending row, made from a request: what the way in takes. The same for one job and for a thousand. */
import {
  type Caller,
  defineJob,
  homeOf,
  isNamespaceName,
  type Job,
  type JobDefinition,
  type JobId,
  type JobInput,
  may,
  type Place,
  Refusal,
  requireMay,
  shardOf,
} from '@carillon/domain';
import type { AuditEntry } from '../storage/audit-store.ts';
import type { InsertedJob, NewJob } from '../storage/job-store.ts';
import { namespaceNotFound } from './accounts/known-namespaces.ts';
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
  const asked = new Set<string>();
  for (const input of inputs) asked.add(input.namespace ?? home);
  const unknown = [...asked].filter(
    (name) =>
      isNamespaceName(name) &&
      !namespaces.has(name) &&
      may(caller, 'jobs.create', { namespace: name, userId: caller.userId }),
  );
  return unknown.length === 0 ? NONE : new Set(await namespaces.missing(unknown));
}

export interface JobRequest {
  readonly caller: Caller;
  /** Namespaces that do not exist, as missingNamespaces found. */
  readonly missing: ReadonlySet<string>;
  readonly ports: OperationPorts;
}

/**
 * Makes the jobs of one request, all at one instant: the audit log keeps them as one. What they share is judged and written
 * once, since a batch may bring a thousand.
 */
export function jobMaker({ caller, missing, ports }: JobRequest) {
  const nowMs = ports.clock.now();
  const home = { namespace: homeOf(caller), userId: caller.userId };
  let allowed: Place | undefined;
  const told = afterTexts();

  return (input: JobInput, idempotencyKey: string | undefined): NewJob => {
    const definition = defineJob(input, nowMs, home);
    const { namespace, userId, schedule } = definition;
    if (allowed?.namespace !== namespace || allowed.userId !== userId) {
      requireMay(caller, 'jobs.create', definition);
      allowed = definition;
    }
    if (missing.has(namespace)) throw namespaceNotFound(namespace, 'namespace');
    const jobId = ports.random.id() as JobId;
    const first = planFirst({ jobId, schedule, nowMs, isNew: true });
    if (!first) throw new Refusal('schedule_never_fires', 'The schedule has no occurrence from now on.');
    const job = jobOf(definition, { jobId, nowMs });
    const audit: AuditEntry = {
      atMs: nowMs,
      actor: caller,
      action: 'jobs.create',
      namespace,
      subject: { kind: 'job', id: jobId },
      before: undefined,
      after: told(job),
      origin: caller.origin,
    };
    return {
      job,
      first,
      idempotency: idempotencyOf(input, { caller, idempotencyKey, namespace, userId }),
      audit,
    };
  };
}

/** The definition comes first: the runtime copies it at once then, and property by property, at many times the cost, elsewhere. */
function jobOf(definition: JobDefinition, { jobId, nowMs }: { jobId: JobId; nowMs: number }): Job {
  return {
    ...definition,
    jobId,
    shard: shardOf(jobId),
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

function idempotencyOf(
  input: JobInput,
  {
    caller,
    idempotencyKey,
    namespace,
    userId,
  }: {
    caller: Caller;
    idempotencyKey: string | undefined;
    namespace: string;
    userId: string | undefined;
  },
): NewJob['idempotency'] {
  if (idempotencyKey === undefined) return undefined;
  return {
    // People know nothing of each other's keys. No key that a client chooses can hold a space.
    key: caller.userId === undefined ? idempotencyKey : `${caller.userId}  ${idempotencyKey}`,
    requestHash: requestHash({ ...input, namespace, userId }),
  };
}

/** What the audit log tells of a new job; one after the other often says the same. */
function afterTexts(): (job: Job) => string {
  let last: Job | undefined;
  let text = '';
  return (job) => {
    const { name, handler, schedule } = job;
    if (last?.name !== name || last.handler !== handler || last.schedule.type !== schedule.type)
      text = JSON.stringify({ name, handler, scheduleType: schedule.type });
    last = job;
    return text;
  };
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
