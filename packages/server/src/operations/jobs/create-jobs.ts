/**
 * Creates jobs. Once an operation answers, its jobs are durable and will run; a repeated request with the same idempotency
 * key finds them again. Of a batch each job is judged by itself, or (atomic) one invalid job refuses the batch.
 */
import {
  actorOf,
  type Caller,
  draftJob,
  homeOf,
  isNamespaceName,
  type Job,
  type JobId,
  type JobInput,
  jobShownTo,
  may,
  meansSecrets,
  type Owner,
  Refusal,
  requireMay,
  requireMayScript,
  shardOf,
} from '@carillon/domain';
import { requestHash } from '@carillon/foundation';
import { namespaceNotFound } from '../../accounts/known-namespaces.ts';
import { requireSecrets } from '../../secrets/secrets.ts';
import type { AuditEntry } from '../../storage/audit-store.ts';
import type { InsertedJob, NewJob } from '../../storage/job-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { announceFirst } from '../support/announce.ts';
import { jobKeyTaken, jobNotFound } from '../support/visibility.ts';
import { detailsOfRead, type JobDetails } from './list-jobs.ts';
import { planFirst } from './plan-first.ts';

/** created false: this request was accepted before, under the same idempotency key. */
export interface CreatedJob {
  readonly jobId: JobId;
  readonly created: boolean;
}

export interface DescribedJob extends CreatedJob {
  readonly details: JobDetails;
}

/** A request, or the refusal that reading it ended with. */
export type BatchItem = JobInput | Refusal;

type IdempotencyOptions = { idempotencyKey?: string | undefined };

export function jobCreation(ports: OperationPorts) {
  const { ingest, slices } = ports;
  let unannounced: NewJob[] = [];
  /** Requests that shared a transaction are answered in one turn: what they made is announced together. */
  const announceSoon = (newJob: NewJob) => {
    if (unannounced.push(newJob) > 1) return;
    queueMicrotask(() => {
      const created = unannounced;
      unannounced = [];
      announceFirst(ports, created);
    });
  };

  return {
    async createJob(
      caller: Caller,
      input: JobInput,
      options: IdempotencyOptions = {},
    ): Promise<DescribedJob> {
      const newJob = await prepareJob(ports, caller, input, options.idempotencyKey);
      const inserted = await ingest.accept(newJob);
      if (inserted.kind === 'key_taken')
        throw await jobKeyTaken(ports, { caller, job: newJob.job, holderId: inserted.jobId });
      const result = createdJob(ports, newJob, inserted);
      if (!result.created) return { ...result, details: await acceptedBefore(ports, caller, result.jobId) };
      announceSoon(newJob);
      return { ...result, details: detailsOf(newJob) };
    },

    /** Answers in the order of the items. */
    async createJobs(
      caller: Caller,
      items: readonly BatchItem[],
      options: IdempotencyOptions & { atomic?: boolean | undefined } = {},
    ): Promise<(CreatedJob | Refusal)[]> {
      requireMay(caller, 'jobs.create');
      const { idempotencyKey: key, atomic } = options;
      const readable = items.filter((item): item is JobInput => !(item instanceof Refusal));
      const makeJob = jobFactory(ports, caller, await missingNamespaces(ports, caller, readable));
      const drafted = await slices.runAll(items, (item, index) => {
        if (item instanceof Refusal) return item;
        // No key that a client chooses can hold a space, so this one collides with no other.
        const itemKey = key === undefined ? undefined : `${key} ${index}`;
        try {
          return makeJob(item, itemKey);
        } catch (error) {
          return refusalOf(error);
        }
      });
      const prepared = await withFittingPayloads(ports, await withSecrets(ports, caller, drafted));
      const accepted = prepared.filter((item): item is NewJob => !(item instanceof Refusal));
      if (atomic) requireNoRefusal(prepared);
      const inserted =
        accepted.length === 0
          ? []
          : await (atomic ? ingest.acceptAtomic(accepted) : ingest.acceptAll(accepted));

      const created: NewJob[] = [];
      let next = 0;
      const answers: (CreatedJob | Refusal)[] = [];
      for (const item of prepared) {
        const result = item instanceof Refusal ? undefined : inserted[next++]!;
        if (item instanceof Refusal || !result) answers.push(item as Refusal);
        else if (result.kind === 'key_taken') {
          answers.push(await jobKeyTaken(ports, { caller, job: item.job, holderId: result.jobId }));
        } else {
          if (result.kind === 'inserted') created.push(item);
          answers.push(createdOrRefusal(ports, item, result));
        }
      }
      if (atomic) requireNoRefusal(answers);
      if (created.length > 0) announceFirst(ports, created);
      return answers;
    },
  };
}

/** Those that name secrets are refused where their caller may not use one of these; the others, mostly all, are left alone. */
async function withSecrets(
  { storage }: OperationPorts,
  caller: Caller,
  made: (NewJob | Refusal)[],
): Promise<readonly (NewJob | Refusal)[]> {
  for (let i = 0; i < made.length; i += 1) {
    const item = made[i]!;
    if (item instanceof Refusal || !meansSecrets(item.job.payload)) continue;
    try {
      await requireSecrets(storage, caller, item.job);
    } catch (error) {
      made[i] = refusalOf(error);
    }
  }
  return made;
}

async function withFittingPayloads(
  { handlers, slices }: OperationPorts,
  made: readonly (NewJob | Refusal)[],
): Promise<readonly (NewJob | Refusal)[]> {
  const jobs = made.flatMap((item) => (item instanceof Refusal ? [] : [item.job]));
  const check = await handlers.checkFor(jobs);
  if (!check) return made;
  return slices.runAll(made, (item) => {
    if (item instanceof Refusal) return item;
    try {
      check(item.job);
      return item;
    } catch (error) {
      return refusalOf(error);
    }
  });
}

/** A job that is ready to be inserted, or the refusal. */
export async function prepareJob(
  ports: OperationPorts,
  caller: Caller,
  input: JobInput,
  idempotencyKey?: string,
): Promise<NewJob> {
  const missing = await missingNamespaces(ports, caller, [input]);
  const newJob = jobFactory(ports, caller, missing)(input, idempotencyKey);
  await requireSecrets(ports.storage, caller, newJob.job);
  await ports.handlers.checkPayload(newJob.job);
  return newJob;
}

const NONE: ReadonlySet<string> = new Set();

/** Which of the requested namespaces do not exist. Existing ones are cached, so this rarely waits. */
async function missingNamespaces(
  { accounts: { namespaces } }: Pick<OperationPorts, 'accounts'>,
  caller: Caller,
  inputs: readonly JobInput[],
): Promise<ReadonlySet<string>> {
  const defaultName = homeOf(caller);
  const requested = new Set<string>();
  for (const input of inputs) requested.add(input.namespace ?? defaultName);
  const unknown = [...requested].filter(
    (name) =>
      isNamespaceName(name) &&
      !namespaces.has(name) &&
      may(caller, 'jobs.create', { namespace: name, userId: caller.userId }),
  );
  return unknown.length === 0 ? NONE : new Set(await namespaces.missing(unknown));
}

/**
 * Makes the jobs of one request, all at one instant: the audit log keeps them as one entry. What they share is checked and
 * serialised once, since a batch may hold a thousand jobs.
 */
function jobFactory(ports: OperationPorts, caller: Caller, missing: ReadonlySet<string>) {
  const nowMs = ports.clock.now();
  const owner = { namespace: homeOf(caller), userId: caller.userId };
  let allowed: Owner | undefined;
  const auditDetails = auditDetailsOf();
  const actor = actorOf(caller);

  return (input: JobInput, idempotencyKey: string | undefined): NewJob => {
    const job = draftJob(input, nowMs, owner);
    const { namespace, userId, schedule } = job;
    if (allowed?.namespace !== namespace || allowed.userId !== userId) {
      requireMay(caller, 'jobs.create', job);
      allowed = job;
    }
    requireMayScript(caller, job);
    if (missing.has(namespace)) throw namespaceNotFound(namespace, 'namespace');
    const jobId = ports.random.id() as JobId;
    const first = planFirst({ jobId, schedule, nowMs, isNew: true });
    if (!first) throw new Refusal('schedule_never_fires', 'The schedule has no occurrence from now on.');
    job.jobId = jobId;
    job.shard = shardOf(jobId);
    const audit: AuditEntry = {
      atMs: nowMs,
      actor,
      action: 'jobs.create',
      namespace,
      subject: { kind: 'job', id: jobId },
      before: undefined,
      after: auditDetails(job),
      origin: caller.origin,
    };
    return {
      job,
      first,
      audit,
      idempotency:
        idempotencyKey === undefined
          ? undefined
          : {
              // Keys of different users never collide: no key that a client chooses can hold a space.
              key: caller.userId === undefined ? idempotencyKey : `${caller.userId}  ${idempotencyKey}`,
              requestHash: requestHash({ ...input, namespace, userId }),
            },
    };
  };
}

/** What the audit log records of a new job. Consecutive jobs often have the same text, which is serialised once. */
function auditDetailsOf(): (job: Job) => string {
  let last: Job | undefined;
  let text = '';
  return (job) => {
    const { name, handler, schedule } = job;
    if (last?.name !== name || last.handler !== handler || last.schedule.type !== schedule.type)
      text = JSON.stringify({ name, handler, schedule_type: schedule.type });
    last = job;
    return text;
  };
}

export function createdJob({ accounts }: OperationPorts, { job }: NewJob, inserted: InsertedJob): CreatedJob {
  if (inserted.kind === 'namespace_missing') {
    accounts.namespaces.forget(job.namespace);
    throw namespaceNotFound(job.namespace, 'namespace');
  }
  if (inserted.kind === 'conflict') {
    const message = `The Idempotency-Key was used before, for another request (job ${inserted.jobId}).`;
    throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
  }
  return { jobId: inserted.jobId, created: inserted.kind === 'inserted' };
}

/** As it was inserted: nothing is read. */
function detailsOf({ job, first }: NewJob): JobDetails {
  const { nominalAtMs } = first.kind === 'cursor' ? first.cursor : first.run;
  return { job, status: 'SCHEDULED', nextRunMs: nominalAtMs, skips: [] };
}

/** One that was accepted before, as it is now. */
async function acceptedBefore(
  { storage, clock }: OperationPorts,
  caller: Caller,
  jobId: JobId,
): Promise<JobDetails> {
  const activity = await storage.runs.activityOfJob(jobId, clock.now());
  const read = await storage.jobs.getForChange(jobId);
  if (!read) throw jobNotFound(jobId);
  return detailsOfRead({ ...read, job: jobShownTo(caller, read.job) }, activity);
}

function requireNoRefusal(answers: readonly unknown[]): void {
  const entries = answers.flatMap((answer, index) =>
    answer instanceof Refusal ? [{ index, refusal: answer }] : [],
  );
  if (entries.length === 0) return;
  const message = `${entries.length} of ${answers.length} jobs cannot be created, and so none was.`;
  throw new Refusal('batch_refused', message, { field: 'jobs', entries });
}

function createdOrRefusal(
  ports: OperationPorts,
  newJob: NewJob,
  inserted: InsertedJob,
): CreatedJob | Refusal {
  try {
    return createdJob(ports, newJob, inserted);
  } catch (error) {
    return refusalOf(error);
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}
