/** Runs that failed for good and wait for somebody to look at them, latest first. */
import { type Caller, requireMay } from '@carillon/domain';
import type { DeadLetter, DeadLetterQuery } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listDeadLetters(ports: OperationPorts) {
  return async (caller: Caller, query: DeadLetterQuery): Promise<DeadLetter[]> => {
    requireMay(caller, 'dead_letters.read');
    return ports.storage.runs.deadLetters(query);
  };
}
