/** The states of a run (one occurrence, attempt by attempt) and the one table of moves between them. */
export const RUN_STATUSES = [
  'QUEUED',
  'CLAIMED',
  'RUNNING',
  'SUCCESS',
  'FAILED',
  'CANCELLED',
  'TIMED_OUT',
  'SKIPPED',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Back to QUEUED: a retry, or a run taken back from a worker that fell silent. */
const MOVES: Record<RunStatus, readonly RunStatus[]> = {
  QUEUED: ['CLAIMED', 'CANCELLED', 'SKIPPED', 'FAILED'],
  CLAIMED: ['RUNNING', 'SUCCESS', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'QUEUED'],
  RUNNING: ['SUCCESS', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'QUEUED'],
  SUCCESS: [],
  FAILED: ['QUEUED'],
  CANCELLED: [],
  TIMED_OUT: ['QUEUED'],
  SKIPPED: [],
};

export function canMoveRun(from: RunStatus, to: RunStatus): boolean {
  return MOVES[from].includes(to);
}

/** What an attempt ends with. */
export type FinalRunStatus = Extract<RunStatus, 'SUCCESS' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT' | 'SKIPPED'>;

export function isFinal(status: RunStatus): status is FinalRunStatus {
  return MOVES[status].every((next) => next === 'QUEUED');
}

/** Why an occurrence has no execution. */
export const SKIP_REASONS = ['misfire', 'overlap', 'queue_full', 'replaced', 'paused'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
