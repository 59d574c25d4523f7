/** The payload that a job had in an earlier version, from its payload now and what was changed since. Pure. */
import type { Job, JobVersion } from '@carillon/client';

/** versions: newest first. Undefined: they do not reach back that far. */
export function payloadOfVersion(
  job: Pick<Job, 'payload'>,
  versions: readonly JobVersion[],
  wanted: number,
): unknown {
  let payload: unknown = job.payload;
  for (const { version, changes } of versions) {
    if (version !== null && version <= wanted) return payload ?? {};
    const change = changes.find(({ field }) => field === 'payload');
    if (change) payload = change.before;
  }
  return undefined;
}
