/** Sends round again every dead letter of a selection that still lies there, a bounded part per request. */
import { BULK_LETTERS_MAX, type Caller, type RunId } from '@carillon/domain';
import type { DeadLetterPlace, DeadLetterQuery } from '../storage/run-store.ts';
import { selectDeadLetters } from './list-dead-letters.ts';
import type { OperationPorts } from './operation-ports.ts';
import { redriveDeadLetter } from './redrive-dead-letter.ts';
import { workThrough } from './work-through.ts';

export interface BulkRedriveRequest {
  readonly selection: Omit<DeadLetterQuery, 'visible' | 'redriven' | 'before' | 'limit'>;
  readonly dryRun: boolean;
  readonly before?: DeadLetterPlace | undefined;
  readonly limit: number;
}

export interface BulkRedriveReport {
  readonly matched: number;
  readonly redriven: number;
  /** Their job was cancelled or removed meanwhile. */
  readonly refused: number;
  readonly runIds: readonly RunId[];
  readonly next: DeadLetterPlace | undefined;
}

export function bulkRedriveDeadLetters(ports: OperationPorts) {
  const redrive = redriveDeadLetter(ports);
  return async (caller: Caller, request: BulkRedriveRequest): Promise<BulkRedriveReport> => {
    const { selection, dryRun, before, limit } = request;
    const { letters, next } = await selectDeadLetters(ports, {
      caller,
      action: 'dead_letters.redrive',
      query: {
        ...selection,
        redriven: false,
        limit: Math.min(limit, BULK_LETTERS_MAX),
        ...(before && { before }),
      },
    });
    const { done, refused } = dryRun
      ? { done: 0, refused: 0 }
      : await workThrough(letters, ({ runId }) => redrive(caller, runId));
    return {
      matched: letters.length,
      redriven: done,
      refused,
      runIds: letters.map(({ runId }) => runId),
      next,
    };
  };
}
