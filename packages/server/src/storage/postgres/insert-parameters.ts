/** New jobs as the insert statements take them: one array literal per column. */
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { NewJob } from '../job-store.ts';
import { CURSOR_KIND, kindCode, priorityCode } from './codes.ts';
import { storedParts } from './job-row.ts';

export function insertParameters(entries: readonly NewJob[]): string[] {
  const parts = entries.map((entry) => storedParts(entry.job));
  const plain = (pick: (entry: NewJob) => string | number | boolean | undefined) =>
    plainArray(entries.map(pick));
  const text = (pick: (entry: NewJob) => string | undefined) => textArray(entries.map(pick));
  return [
    plain(({ job }) => job.jobId),
    text(({ job }) => job.name),
    text(({ job }) => job.userId),
    plain(({ job }) => job.schedule.type),
    plain(({ job }) => job.status),
    plainArray(parts.map((part) => part.scheduleTimeMs)),
    textArray(parts.map((part) => part.cronExpression)),
    textArray(parts.map((part) => part.timeZone)),
    textArray(parts.map((part) => part.schedule)),
    textArray(parts.map((part) => part.misfire)),
    text(({ job }) => job.handler),
    text(({ job }) => job.payload),
    plain(({ job }) => priorityCode(job.priority)),
    plain(({ job }) => job.retry.maxRetries),
    textArray(parts.map((part) => part.retry)),
    plain(({ job }) => job.maxConcurrency),
    plain(({ job }) => job.overlap),
    plain(({ job }) => job.timeoutMs),
    plain(({ job }) => job.startTimeoutMs),
    plain(({ job }) => job.shard),
    text(({ idempotency }) => idempotency?.key),
    text(({ idempotency }) => idempotency?.requestHash),
    plain(({ job, first }) => (first.kind === 'run' ? first.run.runId : job.jobId)),
    plain(({ first }) => (first.kind === 'run' ? kindCode(first.run.trigger) : CURSOR_KIND)),
    plain(({ first }) => (first.kind === 'run' ? first.run.fireAtMs : first.cursor.fireAtMs)),
    plain(({ first }) => (first.kind === 'run' ? first.run.nominalAtMs : first.cursor.nominalAtMs)),
    plain(({ first }) => first.kind === 'run' && first.run.endsJob),
    plain(({ job }) => job.createdAtMs),
    plain(({ job }) => job.updatedAtMs),
    plain(({ job }) => job.version),
    plain(({ job }) => job.namespace),
    textArray(parts.map((part) => part.labels)),
    textArray(parts.map((part) => part.resources)),
  ];
}
