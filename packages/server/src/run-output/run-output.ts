/**
 * What runs write, on its way to the log store: the server's half of the run channel. It writes in batches and holds little in memory:
 * whoever writes faster than the store takes it is asked to wait, and whoever goes on all the same loses the middle, which the log says.
 * A store that is away costs logs, never a run. A run that writes nothing costs nothing.
 */
import type { NodeId, RunId } from '@carillon/domain';
import { type Clock, type Log, type Service, sleep } from '@carillon/foundation';
import type { HeldRun, OutputChunk, RunChannel } from '@carillon/worker';
import { dayOf, type LogKey, type LogStore } from '../log-store/log-store.ts';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';
import { AttemptLog, UNWRITTEN_BYTES_MAX } from './attempt-log.ts';
import { LogRecorder } from './log-recorder.ts';

export interface RunOutputOptions {
  readonly store: LogStore;
  readonly records: Pick<RunLogStore, 'recordLogs'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all runs together, not yet in the store. */
  readonly unwrittenBytesMax?: number;
}

const ALL_UNWRITTEN_BYTES_MAX = 64 * 1_024 * 1_024;
/** Readers who follow a log see it with this delay; so much is written at once, without waiting for the rest. */
const PACE = { everyMs: 200, bytes: 64 * 1_024 };
/** From here on a run is asked to wait. */
const WAIT_BYTES = UNWRITTEN_BYTES_MAX / 4;
/** How long a run waits for the store before it goes on without, and how long its end does. */
const WAIT_MS_MAX = 5_000;
const RETRY_MS = 1_000;

interface OpenLog {
  readonly key: LogKey;
  readonly text: AttemptLog;
  /** It is recorded that there is a log. */
  isRecorded: boolean;
  writing: Promise<void> | undefined;
  /** Why the store did not take the last batch. */
  fault: unknown;
  retryAt: number;
  closing: boolean;
  /** What a run waits for that wrote too much. */
  room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  /** A run has waited for as long as it may: it is not asked again before there is room. */
  hasWaited: boolean;
}

export class RunOutput implements Service, Pick<RunChannel, 'output' | 'close'> {
  readonly #options: RunOutputOptions;
  readonly #pace: NonNullable<LogStore['pace']>;
  readonly #recorder: LogRecorder;
  readonly #open = new Map<string, OpenLog>();
  #unwrittenBytes = 0;
  #peakBytes = 0;
  #failing = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: RunOutputOptions) {
    this.#options = options;
    this.#pace = options.store.pace ?? PACE;
    this.#recorder = new LogRecorder(options);
  }

  /** For tests: what waits to be written now, the most that ever did, and the logs that are open. */
  counts(): { readonly unwrittenBytes: number; readonly peakBytes: number; readonly openLogs: number } {
    return {
      ...{ unwrittenBytes: this.#unwrittenBytes, peakBytes: this.#peakBytes, openLogs: this.#open.size },
    };
  }

  readonly output = (run: HeldRun, chunk: OutputChunk): Promise<void> | undefined => {
    const log = this.#logOf(run, chunk.atMs);
    if (log.closing) return undefined;
    const { unwrittenBytesMax = ALL_UNWRITTEN_BYTES_MAX } = this.#options;
    const room = unwrittenBytesMax - this.#unwrittenBytes;
    this.#counted(log, () => log.text.add(chunk, { room, reason: reasonOf(log) }));
    if (log.text.unwrittenBytes >= this.#pace.bytes) this.#write(log);
    else this.#arm();
    const isFull =
      log.text.unwrittenBytes >= WAIT_BYTES ||
      this.#unwrittenBytes >= unwrittenBytesMax - UNWRITTEN_BYTES_MAX;
    return isFull && !log.hasWaited ? this.#roomIn(log) : undefined;
  };

  readonly close = (run: HeldRun): Promise<void> | undefined => {
    const name = nameOf(run);
    const log = this.#open.get(name);
    if (!log || log.closing) return undefined;
    log.closing = true;
    return this.#finish(name, log);
  };

  async start(): Promise<void> {}

  /** After the runs have ended. */
  async stop(): Promise<void> {
    await Promise.all(
      [...this.#open].map(([name, log]) => {
        if (log.closing) return log.writing;
        log.closing = true;
        return this.#finish(name, log);
      }),
    );
    this.#cancelTimer?.();
    await this.#recorder.stop();
  }

  #logOf(run: HeldRun, atMs: number): OpenLog {
    const name = nameOf(run);
    const found = this.#open.get(name);
    if (found) return found;
    const { runId, epoch } = run;
    // Not of `atMs`, which a worker says: the retention of logs goes by the day.
    const key = { day: dayOf(this.#options.clock.now()), runId: runId as RunId, epoch };
    const log: OpenLog = {
      ...{ key, text: new AttemptLog(atMs), isRecorded: false, writing: undefined, fault: undefined },
      ...{ retryAt: 0, closing: false, room: undefined, hasWaited: false },
    };
    this.#open.set(name, log);
    return log;
  }

  /** Keeps count of what all logs hold in memory. */
  #counted(log: OpenLog, change: () => void): void {
    const before = log.text.unwrittenBytes;
    change();
    this.#unwrittenBytes += log.text.unwrittenBytes - before;
    this.#peakBytes = Math.max(this.#peakBytes, this.#unwrittenBytes);
  }

  /** One promise for all who wait: a handler that calls without waiting makes no more of them. */
  #roomIn(log: OpenLog): Promise<void> {
    if (log.room) return log.room.promise;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.timer(WAIT_MS_MAX, () => {
      log.hasWaited = true;
      this.#giveRoom(log);
    });
    log.room = {
      promise,
      resolve: () => {
        cancel();
        resolve();
      },
    };
    return promise;
  }

  #giveRoom(log: OpenLog): void {
    const { room } = log;
    log.room = undefined;
    room?.resolve();
  }

  /** One timer for all logs; none while there is nothing to write. */
  #arm(): void {
    this.#cancelTimer ??= this.#options.clock.timer(this.#pace.everyMs, () => {
      this.#cancelTimer = undefined;
      for (const log of this.#open.values()) if (log.text.hasLines) this.#write(log);
    });
  }

  /** One batch after the other, until there is nothing left or the store fails. */
  #write(log: OpenLog): void {
    const { clock } = this.#options;
    if (log.writing !== undefined) return;
    if (clock.monotonic() < log.retryAt && !log.closing) {
      this.#arm();
      return;
    }
    log.writing = this.#writeAll(log).then(() => {
      log.writing = undefined;
      if (log.text.hasLines) this.#arm();
    });
  }

  async #writeAll(log: OpenLog): Promise<void> {
    const { store, clock } = this.#options;
    for (let batch = log.text.next(); batch; batch = log.text.next()) {
      try {
        await store.write(log.key, batch, batch.bytes);
        for (const segment of log.text.surplus()) await store.dropSegment(log.key, segment);
      } catch (error) {
        log.fault = error;
        log.retryAt = clock.monotonic() + RETRY_MS;
        this.#tellFailing(error);
        return;
      }
      const written = batch;
      this.#counted(log, () => log.text.wrote(written));
      log.fault = undefined;
      this.#failing = false;
      if (log.text.unwrittenBytes < WAIT_BYTES) {
        log.hasWaited = false;
        this.#giveRoom(log);
      }
      if (!log.isRecorded && !log.closing) {
        log.isRecorded = true;
        void this.#recorder.record(this.#recordOf(log));
      }
    }
  }

  async #finish(name: string, log: OpenLog): Promise<void> {
    const { clock } = this.#options;
    this.#counted(log, () => log.text.end(clock.now()));
    const late = new AbortController();
    const deadline = clock.monotonic() + WAIT_MS_MAX;
    const cancel = clock.timer(WAIT_MS_MAX, () => late.abort());
    const isLate = new Promise<void>((resolve) => late.signal.addEventListener('abort', () => resolve()));
    while (log.text.hasLines && clock.monotonic() < deadline && !late.signal.aborted) {
      this.#write(log);
      await Promise.race([log.writing, isLate]);
      if (log.text.hasLines && log.fault !== undefined) await sleep(clock, RETRY_MS, late.signal);
    }
    this.#counted(log, () => {
      if (log.text.hasLines) log.text.giveUp();
    });
    this.#giveRoom(log);
    this.#open.delete(name);
    await Promise.race([this.#recorder.record(this.#recordOf(log)), isLate]);
    cancel();
  }

  #recordOf({ key, text, closing }: OpenLog): RunLogRecord {
    const { nodeId, store } = this.#options;
    const { offset: bytes, lines, firstAtMs, lastAtMs, incomplete } = text;
    return {
      ...key,
      nodeId: store.isShared ? undefined : nodeId,
      ...{ bytes, lines, firstAtMs, lastAtMs, incomplete, ended: closing },
    };
  }

  /** Once, until it works again. */
  #tellFailing(error: unknown): void {
    if (!this.#failing)
      this.#options.log.warn({ err: error }, 'the output of runs cannot be kept; they go on without');
    this.#failing = true;
  }
}

function reasonOf({ fault }: OpenLog): string {
  if (fault === undefined) return 'it came faster than it could be kept';
  const { code } = fault as { code?: unknown };
  return `it could not be kept${typeof code === 'string' ? ` (${code})` : ''}`;
}

function nameOf({ runId, epoch }: HeldRun): string {
  return `${runId} ${epoch}`;
}
