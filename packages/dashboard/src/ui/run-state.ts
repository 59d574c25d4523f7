/** Which states of a run are its end or a failure, in which it waits for its start, what is late, and what was begun again. */
import type { RunStatus, ShortRun } from '@carillon/client';
import { isFinal, timesHandedOut } from '@carillon/domain';

/** What the product promises: a start at most 2 s after its instant. */
export const LATE_MS = 2_000;

const FAILED: ReadonlySet<RunStatus> = new Set(['FAILED', 'TIMED_OUT', 'LOST']);

/** Also of an attempt that is tried again. */
export function hasFailed(status: RunStatus): boolean {
  return FAILED.has(status);
}

export function isEnded(status: RunStatus): boolean {
  return isFinal(status);
}

export function waits(status: RunStatus): boolean {
  return status === 'QUEUED' || status === 'CLAIMED';
}

/** An attempt that was lost or given back costs none: the one that follows has its number again. */
export function isAgain({
  attempt_number: number,
  epoch,
}: Pick<ShortRun, 'attempt_number' | 'epoch'>): boolean {
  return timesHandedOut(epoch) > number;
}

/** It ended before its time, as when it was cancelled: it is due no more. */
export function endedBeforeDue({
  ended_at: ended,
  scheduled_at: due,
}: Pick<ShortRun, 'ended_at' | 'scheduled_at'>): boolean {
  return ended !== null && Date.parse(ended) < Date.parse(due);
}
