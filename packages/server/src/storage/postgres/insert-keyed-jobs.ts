/**
 * New jobs with an idempotency key or a key of their own: in one statement, where what is there already wins, and one more that
 * tells which job that is.
 */
import type { JobId } from '@carillon/domain';
import { textArray } from '../../postgres/array-literal.ts';
import type { Session } from '../../postgres/database.ts';
import type { InsertedJob, NewJob } from '../job-store.ts';
import { INSERT_ALIKE_KEYED_JOBS, INSERT_KEYED_JOBS } from './insert-jobs.sql.ts';
import { insertParameters } from './insert-parameters.ts';
import { FIND_JOB_KEYS, FIND_KEYS } from './job.sql.ts';

/** The job that has a key may be removed before it is looked up: then the key is free. */
const TRIES_MAX = 5;

export function isKeyed({ job, idempotency }: NewJob): boolean {
  return idempotency !== undefined || job.key !== undefined;
}

/** What became of each. */
export async function insertKeyed(
  session: Session,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<NewJob, InsertedJob>> {
  const answers = new Map<NewJob, InsertedJob>();
  let rest = jobs;
  for (let tries = 0; rest.length > 0; tries += 1) {
    if (tries === TRIES_MAX) throw new Error(`${rest.length} jobs were neither inserted nor found`);
    const inserted = new Set(await insert(session, rest));
    const taken = rest.filter(({ job }) => !inserted.has(job.jobId));
    const owners = await findOwners(session, taken);
    for (const entry of rest) {
      const { jobId } = entry.job;
      const answer: InsertedJob | undefined = inserted.has(jobId)
        ? { kind: 'inserted', jobId }
        : ownerOf(entry, owners);
      if (answer) answers.set(entry, answer);
    }
    rest = taken.filter((entry) => !answers.has(entry));
  }
  return answers;
}

async function insert(session: Session, jobs: readonly NewJob[]): Promise<JobId[]> {
  const { alike, values } = insertParameters(jobs);
  const statement = alike ? INSERT_ALIKE_KEYED_JOBS : INSERT_KEYED_JOBS;
  const rows = await session.query<readonly [JobId]>(statement, values);
  return rows.map(([jobId]) => jobId);
}

interface Owners {
  readonly ofIdempotencyKeys: ReadonlyMap<string, { readonly jobId: JobId; readonly requestHash: string }>;
  readonly ofKeys: ReadonlyMap<string, JobId>;
}

async function findOwners(session: Session, taken: readonly NewJob[]): Promise<Owners> {
  const repeated = taken.filter(({ idempotency }) => idempotency);
  const named = taken.filter(({ job }) => job.key !== undefined);
  const byIdempotencyKey =
    repeated.length === 0
      ? []
      : await session.query<readonly [string, string, JobId, string]>(FIND_KEYS, [
          textArray(repeated.map(({ job }) => job.namespace)),
          textArray(repeated.map(({ idempotency }) => idempotency!.key)),
        ]);
  const byKey =
    named.length === 0
      ? []
      : await session.query<readonly [string, string, JobId]>(FIND_JOB_KEYS, [
          textArray(named.map(({ job }) => job.namespace)),
          textArray(named.map(({ job }) => job.key)),
        ]);
  return {
    ofIdempotencyKeys: new Map(
      byIdempotencyKey.map(([namespace, key, jobId, requestHash]) => [
        `${namespace} ${key}`,
        { jobId, requestHash },
      ]),
    ),
    ofKeys: new Map(byKey.map(([namespace, key, jobId]) => [`${namespace} ${key}`, jobId])),
  };
}

function ownerOf({ job, idempotency }: NewJob, owners: Owners): InsertedJob | undefined {
  const made = idempotency && owners.ofIdempotencyKeys.get(`${job.namespace} ${idempotency.key}`);
  if (made) {
    const isSame = made.requestHash === idempotency.requestHash;
    return { kind: isSame ? 'existing' : 'conflict', jobId: made.jobId };
  }
  const holder = owners.ofKeys.get(`${job.namespace} ${job.key}`);
  return holder && { kind: 'key_taken', jobId: holder };
}
