/** What a run may say of its state: the limits of checkpoints and of progress, for all who take them. */
import { CHECKPOINT_BYTES_MAX, PROGRESS_MESSAGE_LENGTH_MAX, RUN_ERRORS } from '@carillon/domain';
import { HandlerError } from './handler.ts';
import type { Progress } from './run-channel.ts';

/** Of a checkpoint that is JSON text for sure. */
export function requireCheckpointSize(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > CHECKPOINT_BYTES_MAX)
    throw new HandlerError(RUN_ERRORS.checkpointTooLarge(String(bytes)), { retryable: false });
}

export function requireCheckpoint(text: string): void {
  requireCheckpointSize(text);
  try {
    JSON.parse(text);
  } catch (error) {
    throw checkpointNotJson(error);
  }
}

export function checkpointNotJson(cause?: unknown): HandlerError {
  return new HandlerError('The checkpoint is not JSON.', { retryable: false, cause });
}

/** Undefined: it is no number. Refuses a message that is too long. */
export function readProgress({ percent, message }: Progress): Progress | undefined {
  if (Number.isNaN(percent)) return undefined;
  if (message !== undefined && message.length > PROGRESS_MESSAGE_LENGTH_MAX)
    throw new HandlerError(RUN_ERRORS.messageTooLong(String(message.length)), { retryable: false });
  return { percent: Math.min(Math.max(percent, 0), 100), message };
}
