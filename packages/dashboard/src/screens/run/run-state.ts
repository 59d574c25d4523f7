/** Which states of a run are its end, and in which it waits for its start. */
import type { RunStatus } from '@carillon/client';

const GOING_ON: ReadonlySet<RunStatus> = new Set(['QUEUED', 'CLAIMED', 'RUNNING', 'CANCELLING']);

export function isEnded(status: RunStatus): boolean {
  return !GOING_ON.has(status);
}

export function waits(status: RunStatus): boolean {
  return status === 'QUEUED' || status === 'CLAIMED';
}
