/**
 * What runs write, on its way to the log store: the server's half of the run channel. It writes in batches and holds little in memory:
 * whoever writes faster than the store takes it is asked to wait, and whoever goes on all the same loses the middle, which the log says.
 * A store that is away costs logs, never a run. A run that writes nothing costs nothing.
 *
 * A log that an earlier process of this server began, or that was closed too early, is gone on with after what the store has of it.
 */
import { isFirstEpoch, type NodeId, type RunId } from '@carillon/domain';
import { type Clock, LastingCondition, type Log, type Service, sleep } from '@carillon/foundation';
import type { HeldRun, OutputChunk, RunChannel } from '@carillon/worker';
import { dayOf, LogBeginningGone, LogDiskShort, type LogKey, type LogStore } from '../log-store/log-store.ts';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';
import { AttemptLog, UNWRITTEN_BYTES_MAX } from './attempt-log.ts';
import { findPlace, RUN_BYTES_MAX } from './find-place.ts';
import { LogRecorder } from './log-recorder.ts';

export interface RunOutputOptions {
  readonly store: LogStore;
  readonly records: Pick<RunLogStore, 'recordLogs' | 'logsOf'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all runs together, not yet in the store. */
  readonly unwrittenBytesMax?: number;
  /** Of one run, in the store, over all its attempts. */
  readonly runBytesMax?: number;
}

const ALL_UNWRITTEN_BYTES_MAX = 64 * 1_024 * 1_024;
/** Readers who follow a log see it with this delay; so much is written at once, without waiting for the rest. */
const PACE = { everyMs: 200, bytes: 64 * 1_024 };
/** From here on a run is asked to wait. */
const WAIT_BYTES = UNWRITTEN_BYTES_MAX / 4;
/** A log is closed for its run only after so long without a word of it. */
export const QUIET_MS_MIN = 5_000;
/** How long a run waits for the store before it goes on without, and how long its end does. */
const WAIT_MS_MAX = 5_000;
const RETRY_MS = 1_000;
const REMOVED = 'Output is missing here: it was older than logs are kept.';

interface OpenLog {
  /** Undefined: of a log that an earlier process has left. */
  readonly run: HeldRun | undefined;
  key: LogKey;
  readonly text: AttemptLog;
  /** It is known where it goes on. */
  isPlaced: boolean;
  /** As it was recorded before it was opened here. */
  before: RunLogRecord | undefined;
  /** When the run last said something, monotonic. */
  heardAt: number;
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
  readonly #failing: LastingCondition;
  #isFailing = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: RunOutputOptions) {
    this.#options = options;
    this.#pace = options.store.pace ?? PACE;
    this.#recorder = new LogRecorder(options);
    this.#failing = new LastingCondition(options);
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
    log.heardAt = this.#options.clock.monotonic();
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

  /** Runs that said nothing for a while: perhaps they have ended, and nobody here was told. */
  quiet(): HeldRun[] {
    const before = this.#options.clock.monotonic() - QUIET_MS_MIN;
    return [...this.#open.values()].flatMap(({ run, heardAt, closing }) =>
      run && !closing && heardAt <= before ? [run] : [],
    );
  }

  isOpen(run: Pick<HeldRun, 'runId' | 'epoch'>): boolean {
    return this.#open.has(nameOf(run));
  }

  /** Ends a log that an earlier process of this server has left, and whose attempt is over. */
  async closeLeft(record: RunLogRecord): Promise<void> {
    const name = nameOf(record);
    if (this.#open.has(name)) return;
    const log = this.#newLog({ run: undefined, key: this.#keyOf(record), atMs: record.lastAtMs });
    log.closing = true;
    this.#open.set(name, log);
    await this.#finish(name, log);
  }

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
    const log = this.#newLog({ run, key: this.#keyOf(run), atMs });
    log.isPlaced = this.#isFirst(run);
    this.#open.set(name, log);
    return log;
  }

  #newLog({ run, key, atMs }: { run: HeldRun | undefined; key: LogKey; atMs: number }): OpenLog {
    return {
      ...{ run, key, text: new AttemptLog(atMs), isRecorded: false, writing: undefined, fault: undefined },
      ...{ retryAt: 0, closing: false, room: undefined, hasWaited: false },
      ...{ isPlaced: false, before: undefined, heardAt: this.#options.clock.monotonic() },
    };
  }

  #keyOf({ runId, epoch }: Pick<HeldRun, 'runId' | 'epoch'>): LogKey {
    const { clock, store, nodeId } = this.#options;
    // Not of what a worker says: the retention of logs goes by the day.
    const key = { day: dayOf(clock.now()), runId: runId as RunId, epoch };
    return store.isShared ? { ...key, writer: nodeId } : key;
  }

  /** Nothing of the run can have been written before: neither by other attempts nor, by this server, of this one. */
  #isFirst({ epoch, claimedAtMs, isFromEarlier = false }: HeldRun): boolean {
    return isFirstEpoch(epoch) && !isFromEarlier && this.#options.clock.now() - claimedAtMs < QUIET_MS_MIN;
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
    const { store } = this.#options;
    try {
      if (!log.isPlaced) await this.#place(log);
    } catch (error) {
      this.#failed(log, error);
      return;
    }
    for (let batch = log.text.next(); batch; batch = log.text.next()) {
      try {
        await store.write(log.key, batch, batch.bytes);
        for (const segment of log.text.surplus()) await store.dropSegment(log.key, segment);
      } catch (error) {
        if (error instanceof LogBeginningGone) {
          this.#beginAnew(log);
          continue;
        }
        this.#failed(log, error);
        return;
      }
      const written = batch;
      this.#counted(log, () => log.text.wrote(written));
      log.fault = undefined;
      this.#tellWorking();
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

  /** It was removed while its run goes on, because it began too long ago: what follows is kept under the present day. */
  #beginAnew(log: OpenLog): void {
    const nowMs = this.#options.clock.now();
    log.key = { ...log.key, day: dayOf(nowMs) };
    log.before = undefined;
    log.isRecorded = false;
    this.#counted(log, () => log.text.beginAnew(nowMs, REMOVED));
  }

  async #place(log: OpenLog): Promise<void> {
    const { nodeId, clock, store, records, runBytesMax = RUN_BYTES_MAX } = this.#options;
    const { key, run } = log;
    const known = await records.logsOf(key.runId);
    const before = known.find((each) => each.epoch === key.epoch && (each.nodeId ?? each.writer) === nodeId);
    log.before = before;
    if (before) log.key = { ...key, day: before.day };
    const isFromEarlier = run === undefined || run.isFromEarlier === true;
    const place = await findPlace(store, { key: log.key, known, before, isFromEarlier, runBytesMax });
    // It was given up meanwhile.
    if (!this.#open.has(nameOf(key))) return;
    this.#counted(log, () => log.text.goOn(place, clock.now()));
    log.isPlaced = true;
  }

  #failed(log: OpenLog, error: unknown): void {
    log.fault = error;
    log.retryAt = this.#options.clock.monotonic() + RETRY_MS;
    if (!isRefused(log)) {
      this.#tellFailing(error);
      return;
    }
    log.hasWaited = true;
    this.#giveRoom(log);
  }

  async #finish(name: string, log: OpenLog): Promise<void> {
    const { clock } = this.#options;
    this.#counted(log, () => log.text.end(clock.now()));
    const late = new AbortController();
    const deadline = clock.monotonic() + WAIT_MS_MAX;
    const cancel = clock.timer(WAIT_MS_MAX, () => late.abort());
    const isLate = new Promise<void>((resolve) => late.signal.addEventListener('abort', () => resolve()));
    const isLeft = () => !log.isPlaced || log.text.hasLines;
    while (isLeft() && clock.monotonic() < deadline && !late.signal.aborted) {
      this.#write(log);
      await Promise.race([log.writing, isLate]);
      if (isRefused(log)) break;
      if (isLeft() && log.fault !== undefined) await sleep(clock, RETRY_MS, late.signal);
    }
    this.#counted(log, () => {
      if (log.text.hasLines) log.text.giveUp();
    });
    this.#giveRoom(log);
    this.#open.delete(name);
    if (isKnown(log)) await Promise.race([this.#recorder.record(this.#recordOf(log)), isLate]);
    cancel();
  }

  #recordOf({ key, text, closing, isPlaced, before }: OpenLog): RunLogRecord {
    const { nodeId, store } = this.#options;
    const { offset, lines, lastAtMs, incomplete } = text;
    // What could not be put after it is missing at its end.
    const added = isPlaced ? undefined : before;
    return {
      ...key,
      nodeId: store.isShared ? undefined : nodeId,
      ...{ bytes: offset + (added?.bytes ?? 0), lines: lines + (added?.lines ?? 0), lastAtMs },
      ...{ firstAtMs: added?.firstAtMs ?? text.firstAtMs, ended: closing },
      incomplete: incomplete || (before?.incomplete ?? false),
    };
  }

  #tellFailing(error: unknown): void {
    this.#isFailing = true;
    if (this.#failing.notice())
      this.#options.log.warn({ err: error }, 'the output of runs cannot be kept; they go on without');
  }

  #tellWorking(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    const lastedMs = this.#failing.end();
    if (lastedMs !== undefined) this.#options.log.info({ lastedMs }, 'the output of runs is kept again');
  }
}

function reasonOf({ fault }: OpenLog): string {
  if (fault === undefined) return 'it came faster than it could be kept';
  const { code } = fault as { code?: unknown };
  return `it could not be kept${typeof code === 'string' ? ` (${code})` : ''}`;
}

/**
 * Whether there is something to record. Not of a run whose logs have reached their bound, and not where nobody could be asked what an
 * earlier process has written: its record would be replaced by one that says less.
 */
function isKnown({ isPlaced, before, text, run }: OpenLog): boolean {
  if (before) return isPlaced || run !== undefined;
  return isPlaced ? text.offset > 0 : run?.isFromEarlier !== true && run !== undefined;
}

/** Not an outage that may be over in a moment: no run waits for room on a disk that is kept for the database. */
function isRefused({ fault }: OpenLog): boolean {
  return fault instanceof LogDiskShort;
}

function nameOf({ runId, epoch }: Pick<HeldRun, 'runId' | 'epoch'>): string {
  return `${runId} ${epoch}`;
}
