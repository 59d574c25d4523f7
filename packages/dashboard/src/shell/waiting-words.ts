/** Why runs that could start have not, in a sentence: what is known from the numbers of now. Pure. */
import { count } from '../ui/time.ts';

export interface WaitingNow {
  readonly waiting: number;
  /** Handlers that no worker offers. */
  readonly unoffered: readonly string[];
  /** Null: the reader may not see workers. */
  readonly running: number | null;
  readonly slots: number | null;
}

/** The server counts no further. */
const COUNTED_MAX = 1_000;

export function waitingWords({ waiting, unoffered, running, slots }: WaitingNow): string {
  if (waiting === 0) return 'No run waits that could start';
  const runs = `${count(waiting)}${waiting >= COUNTED_MAX ? ' or more' : ''} run${waiting === 1 ? '' : 's'}`;
  const many = `${runs} could start and ${waiting === 1 ? 'waits' : 'wait'}`;
  if (unoffered.length > 0) {
    const handlers = `${unoffered.length === 1 ? 'the handler' : 'the handlers'} ${unoffered.join(', ')}`;
    return `${many}: no worker offers ${handlers}`;
  }
  if (slots === 0) return `${many}: no worker takes runs`;
  if (running !== null && slots !== null && running >= slots) return `${many}: all slots are in use`;
  return `${many} to be handed to a worker`;
}
