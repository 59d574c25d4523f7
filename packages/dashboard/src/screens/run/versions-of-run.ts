/** The versions of a job, as far back as runs are compared with them. */
import type { JobVersion } from '@carillon/client';
import { carillon } from '../../api/carillon.ts';

const VERSIONS_MAX = 200;

/** Newest first. */
export function readVersions(jobId: string): Promise<readonly JobVersion[]> {
  return carillon.jobs.versions(jobId, { limit: VERSIONS_MAX }).toArray({ max: VERSIONS_MAX });
}
