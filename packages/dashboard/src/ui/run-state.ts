/** Which states of a run are its end or a failure, in which it waits for its start, and what is late. */
import type { RunStatus } from '@carillon/client';
import { isFinal } from '@carillon/domain';

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
