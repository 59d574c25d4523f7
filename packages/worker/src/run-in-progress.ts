/**
 * One run being executed. Cheap to make, because a no-op costs little else: the payload is parsed and the abort signal made
 * only when the handler looks at them.
 */
import {
  CALL_ERRORS,
  type ClaimedRun,
  type JobId,
  type JsonObject,
  type RunId,
  type RunUsage,
} from '@carillon/domain';
import {
  HandlerError,
  type KeptArtifacts,
  type RunCheckpoint,
  type RunContext,
  type RunLog,
} from './handler.ts';
import { usageAsTold } from './outcome-of.ts';
import { type LargeResults, type RunChannel, SILENT_CHANNEL } from './run-channel.ts';
import { RunVoice } from './run-voice.ts';
import { SecretMask } from './secret-mask.ts';
import type { RunTrust } from './worker-trust.ts';

/** Why a run was told to stop; decides what it is reported as. */
export type StopReason = 'cancelled' | 'timed_out' | 'returned';

/** One object for all runs of a worker. */
export interface RunInProgressOptions {
  /** Left out: there is only the wall clock. */
  readonly monotonic?: () => number;
  /** Tells it to stop when it is not held any more. */
  readonly holds?: (run: RunInProgress) => boolean;
  readonly channel?: RunChannel;
  readonly now?: () => number;
  readonly trust?: RunTrust;
}

export class RunInProgress implements RunContext {
  readonly run: ClaimedRun;
  readonly startedAtMs: number;
  /** The same by the clock that only ever grows: what has run how long is not a matter of the wall clock. */
  readonly startedAt: number;
  /** The handler asked last whether it is held, and was told no: it may have ended for that alone. */
  isDenied = false;
  /** Told to people as RUNNING. */
  shown = false;
  stop: { reason: StopReason; message: string; at: number } | undefined;
  /** Reported, though the handler has not returned. */
  abandoned = false;
  /** The handler has returned; its last output is on its way. */
  closing = false;
  usage: RunUsage | undefined;
  readonly #options: RunInProgressOptions;
  #voice: RunVoice | undefined;
  #mask: SecretMask | undefined;
  #controller: AbortController | undefined;
  #payload: JsonObject | undefined;

  constructor(run: ClaimedRun, startedAtMs: number, options: RunInProgressOptions = {}) {
    this.#options = options;
    this.run = run;
    this.startedAtMs = startedAtMs;
    this.startedAt = options.monotonic?.() ?? startedAtMs;
  }

  get jobId(): JobId {
    return this.run.jobId;
  }

  get runId(): RunId {
    return this.run.runId;
  }

  get idempotencyKey(): string {
    return this.run.runId;
  }

  get attempt(): number {
    return this.run.attempt;
  }

  get epoch(): number {
    return this.run.epoch;
  }

  get scheduledAt(): Date {
    return new Date(this.run.nominalAtMs);
  }

  get namespace(): string | undefined {
    return this.run.namespace;
  }

  get signature(): Readonly<Record<string, string>> | undefined {
    return this.run.signature;
  }

  get payload(): JsonObject {
    this.#payload ??= parsePayload(this.run.payload);
    return this.#payload;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.stop) this.#controller.abort(new Error(this.stop.message));
    }
    return this.#controller.signal;
  }

  /** Of the secrets that its payload holds; undefined: none of them can be masked. */
  get mask(): SecretMask | undefined {
    if (this.run.secrets) this.#mask ??= SecretMask.of(this.run.secrets);
    return this.#mask;
  }

  get results(): LargeResults | undefined {
    return this.#options.channel?.results;
  }

  get resultBytesMax(): number {
    return this.results?.bytesMax ?? 0;
  }

  get artifacts(): KeptArtifacts | undefined {
    const artifacts = this.#options.channel?.artifacts;
    return artifacts && { bytesMax: artifacts.bytesMax, save: (parts) => artifacts.save(this.run, parts) };
  }

  /** It and `progress` are getters, so that a handler may take them out of the run. */
  get isHeld(): () => boolean {
    const { holds = isNotStopped } = this.#options;
    return () => {
      const isHeld = holds(this);
      this.isDenied = !isHeld;
      return isHeld;
    };
  }

  get trust(): RunTrust | undefined {
    return this.#options.trust;
  }

  get log(): RunLog {
    return this.#speak();
  }

  get checkpoint(): RunCheckpoint {
    return this.#speak();
  }

  get progress(): RunContext['progress'] {
    return (percent, message) => this.#speak().progress(percent, message);
  }

  get used(): RunContext['used'] {
    return (usage) => {
      this.usage = usageAsTold(usage);
    };
  }

  /** Nothing more is said. A promise while the last output is on its way. */
  close(): Promise<void> | undefined {
    return this.#voice?.close({ isCut: this.stop !== undefined });
  }

  #speak(): RunVoice {
    const { channel = SILENT_CHANNEL, now = Date.now } = this.#options;
    this.#voice ??= new RunVoice({
      ...{ run: this.run, channel, now, mask: this.mask },
      signal: () => this.signal,
    });
    return this.#voice;
  }

  /** The first reason counts. */
  requestStop(reason: StopReason, message: string, at: number): void {
    if (this.stop) return;
    this.stop = { reason, message, at };
    this.#controller?.abort(new Error(message));
  }
}

function isNotStopped({ stop }: RunInProgress): boolean {
  return stop === undefined;
}

function parsePayload(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch (error) {
    throw new HandlerError(CALL_ERRORS.notJson, { retryable: false, cause: error });
  }
}
