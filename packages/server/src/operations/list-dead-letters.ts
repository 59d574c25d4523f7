/** Runs that failed for good and wait for somebody to look at them, latest first. */
import type { JobId } from '@carillon/domain';
import type { DeadLetter } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface DeadLetterQuery {
  readonly jobId?: JobId | undefined;
  readonly beforeMs?: number | undefined;
  readonly limit: number;
}

export function listDeadLetters(ports: OperationPorts) {
  return ({ jobId, beforeMs, limit }: DeadLetterQuery): Promise<DeadLetter[]> =>
    ports.storage.runs.deadLetters({
      ...(jobId !== undefined && { jobId }),
      ...(beforeMs !== undefined && { beforeMs }),
      limit,
    });
}
