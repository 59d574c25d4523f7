/** Which states of a run are its end, and in which it waits for its start. */
import type { RunStatus } from '@carillon/client';
import { isFinal } from '@carillon/domain';

export function isEnded(status: RunStatus): boolean {
  return isFinal(status);
}

export function waits(status: RunStatus): boolean {
  return status === 'QUEUED' || status === 'CLAIMED';
}
