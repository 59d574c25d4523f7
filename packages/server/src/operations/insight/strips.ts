/** The last outcomes of several jobs, for a line of marks beside each of them. */
import { type Caller, type JobId, requireMay, visibleTo } from '@carillon/domain';
import type { StripRun } from '../../storage/insight-store.ts';
import type { OperationPorts } from '../operation-ports.ts';

export interface Strip {
  readonly jobId: JobId;
  /** Newest first. */
  readonly runs: readonly StripRun[];
}

export function stripOperations({ storage }: Pick<OperationPorts, 'storage'>) {
  return {
    /** In the order of the ids. Jobs that are not there are left out, and so are those whose runs the caller may not see. */
    async listStrips(caller: Caller, query: { jobIds: readonly JobId[]; runs: number }): Promise<Strip[]> {
      requireMay(caller, 'runs.read');
      const jobIds = [...new Set(query.jobIds)];
      const visible = visibleTo(caller, 'runs.read');
      const strips = await storage.insight.strips({ jobIds, runs: query.runs, visible });
      return jobIds.flatMap((jobId) => {
        const runs = strips.get(jobId);
        return runs === undefined ? [] : [{ jobId, runs }];
      });
    },
  };
}
