/** Keeps the groups of failures of an hour and namespace within their bound: what is past it is added to one group. */
import type { JobId } from '@carillon/domain';
import { OTHER_ERRORS } from './error-group.ts';
import type { FailureRow } from './run-tally.ts';
import { type FailureGroup, GROUPS_PER_HOUR_MAX, JOBS_COUNTED_MAX } from './stats-store.ts';

/** Of an hour of a namespace: its groups, and jobs of each. */
export type KnownGroups = ReadonlyMap<string, readonly JobId[]>;

/** Stored in place of what a job has said that was removed. */
export const NO_MESSAGE = '';
const GONE_MESSAGE = 'The job that failed like this was removed, and its error with it.';
const OTHER_MESSAGE = 'Other errors: there were too many different ones to tell them apart.';

export function hourOf({ namespace, atMs }: Pick<FailureRow, 'namespace' | 'atMs'>): string {
  return `${atMs}/${namespace}`;
}

/** known: by hourOf. The rows to write: each with all its jobs, up to their bound. */
export function boundFailures(
  rows: readonly FailureRow[],
  known: ReadonlyMap<string, KnownGroups>,
): FailureRow[] {
  const bounded = new Map<string, FailureRow>();
  const sizes = new Map([...known].map(([hour, groups]) => [hour, groups.size]));
  for (const row of rows) {
    const hour = hourOf(row);
    const groups = known.get(hour);
    const isKnown = groups?.has(row.fingerprint) ?? false;
    const size = sizes.get(hour) ?? 0;
    const isOther = !isKnown && size >= GROUPS_PER_HOUR_MAX;
    if (!isKnown && !isOther) sizes.set(hour, size + 1);
    const group = isOther
      ? { ...row, fingerprint: OTHER_ERRORS, handler: '', message: OTHER_MESSAGE }
      : { ...row };
    const key = `${hour}/${group.fingerprint}`;
    const before = bounded.get(key);
    const jobs = before?.jobIds ?? new Set(groups?.get(group.fingerprint) ?? []);
    for (const jobId of row.jobIds) if (jobs.size < JOBS_COUNTED_MAX) jobs.add(jobId);
    bounded.set(key, {
      ...group,
      jobIds: jobs,
      count: row.count + (before?.count ?? 0),
      firstAtMs: Math.min(row.firstAtMs, before?.firstAtMs ?? row.firstAtMs),
      lastAtMs: Math.max(row.lastAtMs, before?.lastAtMs ?? row.lastAtMs),
    });
  }
  return [...bounded.values()];
}

/** An hour of a group, as it is kept. */
export interface KeptFailure extends Omit<FailureRow, 'atMs' | 'jobIds'> {
  readonly jobIds: Iterable<JobId>;
}

/** The hours of each group as one, the most frequent first. */
export function mergeFailures(hours: readonly KeptFailure[], limit: number): FailureRow[] {
  const groups = new Map<string, FailureRow>();
  for (const hour of hours) {
    const key = `${hour.namespace}/${hour.fingerprint}`;
    const before = groups.get(key);
    const newer = before && before.lastAtMs >= hour.lastAtMs ? before : hour;
    groups.set(key, {
      ...{ ...newer, atMs: 0, jobIds: new Set([...(before?.jobIds ?? []), ...hour.jobIds]) },
      count: hour.count + (before?.count ?? 0),
      firstAtMs: Math.min(hour.firstAtMs, before?.firstAtMs ?? hour.firstAtMs),
      lastAtMs: Math.max(hour.lastAtMs, before?.lastAtMs ?? hour.lastAtMs),
    });
  }
  const order = (a: FailureRow, b: FailureRow) => b.count - a.count || b.lastAtMs - a.lastAtMs;
  return [...groups.values()].sort(order).slice(0, limit);
}

/** sampleJobName: undefined when the job is gone. */
export function failureGroup(row: FailureRow, sampleJobName: string | undefined): FailureGroup {
  const { fingerprint, handler, namespace, count, jobIds, firstAtMs, lastAtMs } = row;
  const isGone = row.message === NO_MESSAGE || sampleJobName === undefined;
  const message = isGone && fingerprint !== OTHER_ERRORS ? GONE_MESSAGE : row.message;
  return {
    ...{ fingerprint, namespace, message, count, jobs: jobIds.size, firstAtMs, lastAtMs, sampleJobName },
    handler: fingerprint === OTHER_ERRORS ? undefined : handler,
    sampleRunId: row.runId,
    sampleJobId: row.jobId,
  };
}
