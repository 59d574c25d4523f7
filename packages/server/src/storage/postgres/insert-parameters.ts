/** New jobs as the insert statements take them: one array literal per column. */
import { plainArray, sparse, textArray } from '../../postgres/array-literal.ts';
import type { NewJob } from '../job-store.ts';
import { handlerKey, partOf, tenantOf } from '../lane.ts';
import { CURSOR_KIND, kindCode, priorityCode } from './codes.ts';
import { storedParts } from './job-row.ts';

export function insertParameters(entries: readonly NewJob[]): (string | null)[] {
  const parts = entries.map((entry) => storedParts(entry.job));
  const plain = (pick: (entry: NewJob) => string | number | boolean | undefined) =>
    plainArray(entries.map(pick));
  const text = (pick: (entry: NewJob) => string | undefined) => textArray(entries.map(pick));
  const texts = (values: readonly (string | undefined)[]) => sparse(values, textArray);
  const rarely = (pick: (entry: NewJob) => string | undefined) => texts(entries.map(pick));
  return [
    plain(({ job }) => job.jobId),
    text(({ job }) => job.name),
    rarely(({ job }) => job.userId),
    plain(({ job }) => job.schedule.type),
    plain(({ job }) => job.status),
    sparse(
      parts.map((part) => part.scheduleTimeMs),
      plainArray,
    ),
    texts(parts.map((part) => part.cronExpression)),
    texts(parts.map((part) => part.timeZone)),
    texts(parts.map((part) => part.schedule)),
    texts(parts.map((part) => part.misfire)),
    text(({ job }) => job.handler),
    text(({ job }) => job.payload),
    plain(({ job }) => priorityCode(job.priority)),
    plain(({ job }) => job.retry.maxRetries),
    texts(parts.map((part) => part.retry)),
    plain(({ job }) => job.maxConcurrency),
    plain(({ job }) => job.overlap),
    plain(({ job }) => job.timeoutMs),
    sparse(
      entries.map(({ job }) => job.startTimeoutMs),
      plainArray,
    ),
    plain(({ job }) => job.shard),
    rarely(({ idempotency }) => idempotency?.key),
    rarely(({ idempotency }) => idempotency?.requestHash),
    plain(({ job, first }) => (first.kind === 'run' ? first.run.runId : job.jobId)),
    plain(({ first }) => (first.kind === 'run' ? kindCode(first.run.trigger) : CURSOR_KIND)),
    plain(({ first }) => (first.kind === 'run' ? first.run.fireAtMs : first.cursor.fireAtMs)),
    plain(({ first }) => (first.kind === 'run' ? first.run.nominalAtMs : first.cursor.nominalAtMs)),
    plain(({ first }) => first.kind === 'run' && first.run.endsJob),
    plain(({ job }) => job.createdAtMs),
    plain(({ job }) => job.updatedAtMs),
    plain(({ job }) => job.version),
    plain(({ job }) => job.namespace),
    texts(parts.map((part) => part.labels)),
    texts(parts.map((part) => part.resources)),
    rarely(({ audit }) => audit?.actor.kind),
    rarely(({ audit }) => audit?.actor.id),
    rarely(({ audit }) => audit?.actor.name),
    rarely(({ audit }) => audit?.origin.address),
    rarely(({ audit }) => audit?.origin.userAgent),
    rarely(({ audit }) => audit?.origin.requestId),
    rarely(({ audit }) => audit?.after),
    plain(({ job }) => partOf(job.shard)),
    plain(({ job }) => handlerKey(job.handler)),
    plain(({ job }) => tenantOf(job)),
  ];
}
