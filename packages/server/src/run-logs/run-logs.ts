/** What runs have written, read from wherever it is kept: as lines, or as text of which any part can be read. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type NodeId, Refusal, type RunId, type StoredResult } from '@carillon/domain';
import { type LogLine, parseLine, writeLine } from '../log-store/log-line.ts';
import { type LogKey, type LogSegment, type LogStore, LogStoreUnavailable } from '../log-store/log-store.ts';
import { resultKey } from '../run-results/stored-results.ts';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';
import type { RunView } from '../storage/run-store.ts';
import { type KeptArtifact, keptArtifacts } from './kept-artifacts.ts';

export interface LoggedLine extends LogLine {
  readonly epoch: number;
  /** Where the next line begins. */
  readonly offset: number;
  /** What comes after this position cannot be read now. */
  readonly isMissing?: true;
}

/** A text whose length is known before it is read. */
export interface LogPart {
  readonly bytes: number;
  read(from: number, bytesMax: number): Promise<Uint8Array>;
}

/** Where a log is read. */
export type LogSource = Pick<LogStore, 'segments' | 'read'>;

/** The server whose folder has a log does not answer. */
export class LogOutOfReach extends Error {
  readonly nodeId: NodeId;
  readonly why: string;

  constructor(nodeId: NodeId, why: string, options?: ErrorOptions) {
    super(`the logs of the server ${nodeId} cannot be read: ${why}`, options);
    this.nodeId = nodeId;
    this.why = why;
  }
}

export interface RunLogsOptions {
  readonly records: Pick<RunLogStore, 'logsOf'>;
  readonly store: LogSource;
  readonly nodeId: NodeId;
  /** The logs of another server, which throw LogOutOfReach; undefined: nobody knows where it is. Left out: nobody ever does. */
  readonly peer?: ((nodeId: NodeId) => Promise<LogSource | undefined>) | undefined;
}

const READ_BYTES = 256 * 1_024;
const NEWLINE = 10;
const INSTANT_LENGTH = 24;

export class RunLogs {
  readonly #options: RunLogsOptions;

  constructor(options: RunLogsOptions) {
    this.#options = options;
  }

  /** Of attempts that have said something, in the order of their epochs. */
  of(runId: RunId): Promise<RunLogRecord[]> {
    return this.#options.records.logsOf(runId);
  }

  /** Refuses where all of it is in the folders of servers of which nobody knows where they are. */
  async requireReach(records: readonly RunLogRecord[]): Promise<void> {
    for (const record of records) if (await this.#sourceOf(record)) return;
    const [first] = records;
    if (!first) return;
    const message = `The log of the run ${first.runId} is in a folder of the server ${first.nodeId}, which has not said where it is reached.`;
    throw new Refusal('log_elsewhere', message);
  }

  /**
   * Lines that are complete, from a position on. What was dropped or could not be kept is a line of its own, and so is what a server
   * that does not answer has: then it is the last. They end early when the signal aborts, also where nobody is asked for the next.
   */
  async *lines(record: RunLogRecord, from = 0, signal?: AbortSignal): AsyncGenerator<LoggedLine> {
    let end = from;
    try {
      for await (const line of this.#linesOf(record, from, signal)) {
        end = line.offset;
        yield line;
      }
    } catch (error) {
      if (!(error instanceof LogOutOfReach)) throw error;
      yield missingLine(record, { from: end, error });
    }
  }

  async *#linesOf(
    record: RunLogRecord,
    from: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<LoggedLine> {
    const source = await this.#requireSource(record);
    let end = from;
    for (const segment of await source.segments(record)) {
      if (segment.start + segment.bytes <= from) continue;
      const missing = segment.start - end;
      const range = { segment, from: Math.max(from, segment.start), signal };
      for await (const line of linesOf(source, record, range)) {
        if (missing > 0 && end < segment.start)
          yield gapLine(record, { ...line, offset: segment.start }, missing);
        end = line.offset;
        yield line;
      }
      if (signal?.aborted) return;
    }
    const lost = lostBytes(record, end);
    if (lost > 0) yield lossLine(record, lost);
  }

  /** The same as text, without reading it. A server that ceases to answer while it is read cuts the text off. */
  async parts(record: RunLogRecord): Promise<LogPart[]> {
    try {
      return await this.#partsOf(record);
    } catch (error) {
      if (!(error instanceof LogOutOfReach)) throw error;
      return [textPart(writeLine(missingLine(record, { from: 0, error })))];
    }
  }

  async #partsOf(record: RunLogRecord): Promise<LogPart[]> {
    const source = await this.#requireSource(record);
    const parts: LogPart[] = [];
    let end = 0;
    for (const segment of await source.segments(record)) {
      const { start, bytes } = segment;
      if (start > end) {
        const head = await source.read(record, { segment: start, from: start, bytesMax: INSTANT_LENGTH });
        const atMs = Number.parseInt(Buffer.from(head).toString('latin1'), 10) || record.lastAtMs;
        parts.push(textPart(writeLine(gapLine(record, { atMs, offset: start }, start - end))));
      }
      const read = (from: number, bytesMax: number) =>
        source.read(record, {
          segment: start,
          from: start + from,
          bytesMax: Math.min(bytesMax, bytes - from),
        });
      parts.push({ bytes, read });
      end = start + bytes;
    }
    const lost = lostBytes(record, end);
    if (lost > 0) parts.push(textPart(writeLine(lossLine(record, lost))));
    return parts;
  }

  /** A result that is too large for the database. Refuses where it cannot be read, or is not kept any more. */
  async result(run: Pick<LogKey, 'runId' | 'epoch'>, stored: StoredResult): Promise<LogPart> {
    const { bytes, server } = stored;
    const key = resultKey(run, stored);
    const where = `The result of the run ${run.runId} is in a folder of the server ${server}`;
    const refuse = (why: string, cause?: unknown) =>
      new Refusal('log_elsewhere', `${where}, which ${why}.`, { cause });
    const source = await this.#sourceOf({ nodeId: server as NodeId | undefined });
    if (!source) throw refuse('has not said where it is reached');
    const segments = await source.segments(key).catch((error: unknown) => {
      if (!(error instanceof LogOutOfReach)) throw error;
      throw refuse(`cannot be asked now (${error.why})`, error);
    });
    if (segments[0]?.bytes !== bytes)
      throw new Refusal('result_not_found', `The result of the run ${run.runId} is not kept any more.`);
    return { bytes, read: (from, bytesMax) => source.read(key, { segment: 0, from, bytesMax }) };
  }

  /** The files that its attempts left. Refuses where none can be read, and some may be. */
  async artifacts(runId: RunId, attempts: readonly RunView[]): Promise<KeptArtifact[]> {
    const records = await this.of(runId);
    return keptArtifacts({ records, attempts, sourceOf: (record) => this.#sourceOf(record) });
  }

  async #requireSource(record: RunLogRecord): Promise<LogSource> {
    const source = await this.#sourceOf(record);
    if (source) return source;
    throw new LogOutOfReach(record.nodeId!, 'it has not said where it is reached');
  }

  async #sourceOf({ nodeId }: Pick<RunLogRecord, 'nodeId'>): Promise<LogSource | undefined> {
    const { store, peer } = this.#options;
    if (nodeId === undefined || nodeId === this.#options.nodeId) return refusing(store);
    return peer?.(nodeId);
  }
}

/** A store that is away is told to the reader as such. */
function refusing(store: LogSource): LogSource {
  const refuse = (error: unknown): never => {
    if (!(error instanceof LogStoreUnavailable)) throw error;
    throw new Refusal('logs_unavailable', 'The store of logs cannot be read now.', { cause: error });
  };
  return {
    segments: (log) => store.segments(log).catch(refuse),
    read: (log, range) => store.read(log, range).catch(refuse),
  };
}

/** Some of an attempt that has ended is in no segment: it could not be kept. */
function lostBytes({ ended, bytes }: RunLogRecord, end: number): number {
  return ended ? bytes - end : 0;
}

function gapLine(
  { epoch }: LogKey,
  { atMs, offset }: Pick<LoggedLine, 'atMs' | 'offset'>,
  missing: number,
): LoggedLine {
  const text = `${missing} bytes of output are left out here: of a long log the beginning and the end are kept.`;
  return { epoch, offset, atMs, stream: 'system', text };
}

function lossLine({ epoch, lastAtMs, bytes }: RunLogRecord, lost: number): LoggedLine {
  const text = `${lost} bytes of output are missing here: they could not be kept, or are not kept any more.`;
  return { epoch, offset: bytes, atMs: lastAtMs, stream: 'system', text };
}

/** With the position before it: whoever follows the log goes on there when the server answers again. */
function missingLine(
  { epoch, lastAtMs }: RunLogRecord,
  { from, error }: { from: number; error: LogOutOfReach },
): LoggedLine {
  const what = from === 0 ? 'The log of this attempt' : `The log of this attempt from byte ${from} on`;
  const text = `${what} is missing here: it is in a folder of the server ${error.nodeId}, which cannot be asked now (${error.why}).`;
  return { epoch, offset: from, atMs: lastAtMs, stream: 'system', text, isMissing: true };
}

async function* linesOf(
  source: LogSource,
  log: LogKey,
  { segment, from, signal }: { segment: LogSegment; from: number; signal: AbortSignal | undefined },
): AsyncGenerator<LoggedLine> {
  let rest: Uint8Array = new Uint8Array();
  let at = from;
  const end = segment.start + segment.bytes;
  while (at + rest.length < end) {
    const position = at + rest.length;
    const bytesMax = Math.min(READ_BYTES, end - position);
    if (bytesMax === READ_BYTES) await blockTurn();
    if (signal?.aborted) return;
    const read = await source.read(log, { segment: segment.start, from: position, bytesMax });
    if (read.length === 0) return;
    const bytes = rest.length === 0 ? read : Buffer.concat([rest, read]);
    let start = 0;
    for (let found = bytes.indexOf(NEWLINE); found >= 0; found = bytes.indexOf(NEWLINE, start)) {
      const line = Buffer.from(bytes.buffer, bytes.byteOffset + start, found - start).toString();
      at += found + 1 - start;
      start = found + 1;
      const parsed = parseLine(line);
      if (parsed) yield { epoch: log.epoch, offset: at, ...parsed };
    }
    rest = bytes.subarray(start);
  }
}

let lastBlock: Promise<void> = Promise.resolve();

/** One full block of all logs is begun in a turn of the event loop: however many are read, others wait for one block and no more. */
function blockTurn(): Promise<void> {
  lastBlock = lastBlock.then(() => nextTurn());
  return lastBlock;
}

export function textPart(text: string): LogPart {
  const bytes = Buffer.from(text);
  return { bytes: bytes.length, read: async (from, bytesMax) => bytes.subarray(from, from + bytesMax) };
}

/** Of texts one after the other: from this byte on, so many. */
export async function* readParts(
  parts: readonly LogPart[],
  { from, bytes }: { readonly from: number; readonly bytes: number },
): AsyncGenerator<Uint8Array> {
  let skip = from;
  let left = bytes;
  for (const part of parts) {
    let at = Math.min(skip, part.bytes);
    skip -= at;
    while (at < part.bytes && left > 0) {
      const read = await part.read(at, Math.min(READ_BYTES, left, part.bytes - at));
      // It was removed meanwhile: the answer ends early, as its length says.
      if (read.length === 0) return;
      at += read.length;
      left -= read.length;
      yield read;
    }
  }
}
