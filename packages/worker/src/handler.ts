/** What user code implements: a function that gets the run and answers, throws, or stops when its signal says so. */
import type { JobId, JsonObject, JsonValue, RunId, RunUsage } from '@carillon/domain';
import type { OutputStream, RunArtifacts } from './run-channel.ts';
import type { SecretMask } from './secret-mask.ts';
import type { RunTrust } from './worker-trust.ts';

export interface RunContext {
  readonly jobId: JobId;
  readonly runId: RunId;
  /** The same for every attempt of the run: hand it on to whatever must not happen twice. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Grows each time the run is handed out: a store that remembers the highest one seen refuses a zombie's writes. */
  readonly epoch: number;
  readonly scheduledAt: Date;
  readonly payload: JsonObject;
  /** Of a request that may have to be signed, or of a payload that names secrets; undefined otherwise. */
  readonly namespace?: string | undefined;
  /** Of a request that the server has signed: headers to send with it as they are. */
  readonly signature?: Readonly<Record<string, string>> | undefined;
  /** Aborts on cancel, timeout and shutdown. A handler that ignores it keeps its slot until it returns. */
  readonly signal: AbortSignal;
  /**
   * Whether the run still is this worker's to do: a process that stood still learns it here, before its signal can tell. Ask
   * right before an effect that must not happen beside the next attempt's; when it says no, the run is given back.
   */
  isHeld(): boolean;
  /** For how long it is, for handlers that start processes: these go on when the worker stands still. */
  readonly trust?: RunTrust | undefined;
  /** Writes to the log of the run. It is kept in order, and read while the run goes on. */
  readonly log: RunLog;
  /** Shown while the run goes on: from 0 to 100, and a few words; fails where these have more than 200 characters. */
  progress(percent: number, message?: string): void;
  /** Kept with the run: what it took of the machine, for handlers that can tell. The last call counts. */
  used(usage: RunUsage): void;
  readonly checkpoint: RunCheckpoint;
  /** Keeps files of the run. Left out: nobody does. */
  readonly artifacts?: KeptArtifacts | undefined;
  /** Of the secrets that the payload holds: a handler that cuts a text masks it first, since half a secret is not known as one. */
  readonly mask?: SecretMask | undefined;
}

export interface KeptArtifacts {
  readonly bytesMax: number;
  save(parts: Parameters<RunArtifacts['save']>[1]): Promise<void>;
}

export interface RunLog {
  /** One line of the handler's own. */
  info(text: string): void;
  error(text: string): void;
  /** Bytes as a program wrote them. A promise when the log is full for now: whoever can wait waits for it before it writes more. */
  write(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined;
  /**
   * Of every stream, the line that has no end yet: it is shown when it has one, so what is said after this stands behind it. isCut: what
   * wrote it was stopped, perhaps within a secret.
   */
  endLines(options?: { readonly isCut?: boolean }): void;
}

/** Where a run goes on after a crash, a drain or a failure. */
export interface RunCheckpoint {
  /** What an earlier attempt, or this one, saved last; undefined when there is none. */
  readonly value: JsonValue | undefined;
  /** Resolves when it is durable; fails when it is too large, or the run is not this worker's any more. */
  save(value: JsonValue): Promise<void>;
}

/** The value it answers is kept as the run's result, if it is JSON and small enough. */
export type Handler = (context: RunContext) => unknown;

/** Thrown by a handler when trying again cannot help, or must wait. */
export class HandlerError extends Error {
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly result: unknown;

  constructor(
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number; result?: unknown; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HandlerError';
    this.retryable = options.retryable ?? true;
    this.retryAfterMs = options.retryAfterMs;
    this.result = options.result;
  }
}
