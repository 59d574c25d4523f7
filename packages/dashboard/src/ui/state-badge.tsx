/** A state by colour, shape and word, so that none of them is needed alone. */
import type { JobStatus, RunStatus } from '@carillon/client';
import classes from './state-badge.module.css';

export type State =
  | RunStatus
  | JobStatus
  | 'RETRYING'
  | 'WAITING'
  | 'LATE'
  | 'ALIVE'
  | 'DEAD'
  | 'DRAINING'
  | 'IDLE';

type Shape =
  | 'ring'
  | 'arc'
  | 'tick'
  | 'cross'
  | 'hourglass'
  | 'arrow'
  | 'dash'
  | 'square'
  | 'bars'
  | 'clock'
  | 'dot';
type Tone = 'grey' | 'blue' | 'green' | 'red' | 'orange';

const LOOKS: Record<State, readonly [Shape, Tone, string]> = {
  QUEUED: ['ring', 'grey', 'queued'],
  CLAIMED: ['arc', 'blue', 'claimed'],
  RUNNING: ['arc', 'blue', 'running'],
  CANCELLING: ['square', 'orange', 'cancelling'],
  SUCCESS: ['tick', 'green', 'succeeded'],
  FAILED: ['cross', 'red', 'failed'],
  TIMED_OUT: ['hourglass', 'red', 'timed out'],
  CANCELLED: ['square', 'grey', 'cancelled'],
  SKIPPED: ['dash', 'grey', 'skipped'],
  RETURNED: ['arrow', 'grey', 'returned'],
  LOST: ['arrow', 'orange', 'lost'],
  SCHEDULED: ['clock', 'grey', 'scheduled'],
  PAUSED: ['bars', 'orange', 'paused'],
  COMPLETED: ['tick', 'green', 'completed'],
  RETRYING: ['arrow', 'orange', 'retrying'],
  WAITING: ['ring', 'orange', 'waiting'],
  LATE: ['clock', 'orange', 'late'],
  ALIVE: ['dot', 'green', 'alive'],
  DEAD: ['cross', 'red', 'lost'],
  DRAINING: ['bars', 'orange', 'draining'],
  IDLE: ['ring', 'grey', 'idle'],
};

const PATHS: Record<Shape, string> = {
  ring: 'M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10',
  arc: 'M8 3a5 5 0 1 1-5 5',
  tick: 'M3 8.500l3.200 3.200L13 4.800',
  cross: 'M4 4l8 8M12 4l-8 8',
  hourglass: 'M4.500 3h7l-7 10h7z',
  arrow: 'M12.500 8a4.500 4.500 0 1 1-1.500-3.300M12.500 2.500v3h-3',
  dash: 'M3 8h10',
  square: 'M4.500 4.500h7v7h-7z',
  bars: 'M5.500 4v8M10.500 4v8',
  clock: 'M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10M8 5.500V8l2 1.500',
  dot: 'M8 6a2 2 0 1 0 0 4a2 2 0 1 0 0-4',
};

export function stateWord(state: State): string {
  return LOOKS[state]?.[2] ?? String(state).toLowerCase();
}

export function StateIcon({ state, size = 14 }: { state: State; size?: number }) {
  const [shape, tone] = LOOKS[state] ?? ['ring', 'grey'];
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} className={classes[tone]} aria-hidden="true">
      <path d={PATHS[shape]} fill="none" stroke="currentColor" strokeWidth="1.800" strokeLinecap="round" />
    </svg>
  );
}

export function StateBadge({
  state,
  title,
  triedAgain = false,
}: {
  state: State;
  title?: string | undefined;
  /** Another attempt follows: it does not look like one that was given up. */
  triedAgain?: boolean | undefined;
}) {
  const look = triedAgain ? 'RETRYING' : state;
  const tone = LOOKS[look]?.[1] ?? 'grey';
  return (
    <span className={`${classes.badge} ${classes[tone]}`} title={title} data-state={state}>
      <StateIcon state={look} />
      {stateWord(state)}
      {triedAgain ? ', tried again' : ''}
    </span>
  );
}
