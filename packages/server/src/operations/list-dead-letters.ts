/** Runs that failed for good and wait for somebody to look at them, latest first. */
import { type Action, type Caller, requireMay, visibleTo } from '@carillon/domain';
import type { DeadLetter, DeadLetterPlace, DeadLetterQuery } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedDeadLetters {
  readonly letters: readonly DeadLetter[];
  /** More may follow before this place. Undefined: this is the end. */
  readonly next: DeadLetterPlace | undefined;
}

export function listDeadLetters(ports: OperationPorts) {
  return (caller: Caller, query: DeadLetterQuery): Promise<ListedDeadLetters> =>
    selectDeadLetters(ports, { caller, action: 'dead_letters.read', query });
}

/** Those that the caller may do this with. */
export async function selectDeadLetters(
  ports: Pick<OperationPorts, 'storage'>,
  { caller, action, query }: { caller: Caller; action: Action; query: Omit<DeadLetterQuery, 'visible'> },
): Promise<ListedDeadLetters> {
  requireMay(caller, action);
  const { letters, stoppedAt } = await ports.storage.runs.deadLetters({
    ...query,
    visible: visibleTo(caller, action),
    limit: query.limit + 1,
  });
  const shown = letters.slice(0, query.limit);
  return { letters: shown, next: letters.length > query.limit ? shown.at(-1) : stoppedAt };
}
