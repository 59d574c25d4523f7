/** Runs that failed for good and wait for somebody to look at them, latest first. */
import type { DeadLetter, DeadLetterQuery } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export function listDeadLetters(ports: OperationPorts) {
  return (query: DeadLetterQuery): Promise<DeadLetter[]> => ports.storage.runs.deadLetters(query);
}
