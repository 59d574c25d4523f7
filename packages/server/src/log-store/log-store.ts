/**
 * What runs have written, as text. A log is the bytes of one attempt, counted from 0. It is kept in segments, each of which begins at
 * its first byte: the first one holds the beginning, and later ones may be dropped while the log goes on, which leaves a gap. Writing
 * may fail at any time: that costs the log, never the run.
 */
import type { NodeId, RunId } from '@carillon/domain';

/** One attempt, its result where that is too large for the database, or the files that it left. The day is that of its first output, in UTC, such as 2030-01-31: retention goes by it. */
export interface LogKey {
  readonly day: string;
  readonly runId: RunId;
  readonly epoch: number;
  /**
   * In a store that all servers write to: which of them did. Each writes a log of its own, so that one that stood still overwrites nothing.
   */
  readonly writer?: NodeId | undefined;
  /** Left out: the log. */
  readonly part?: 'log' | 'result' | 'artifacts';
}

export interface LogSegment {
  /** The position of its first byte in the log, by which it is called. */
  readonly start: number;
  readonly bytes: number;
}

/** A part of a segment, from a position of the log on. */
export interface LogRange {
  readonly segment: number;
  readonly from: number;
  readonly bytesMax: number;
}

export interface LogStore {
  /** Every server of the installation reaches what is kept here, and not only this one. */
  readonly isShared: boolean;
  /** Writes are dear: collect so much, or for so long, before each. Left out: they are not. */
  readonly pace?: { readonly everyMs: number; readonly bytes: number };
  /**
   * Bytes from this position on, after all before them in this segment. The same again changes nothing. A write from the
   * beginning of a log on leaves nothing of one that had its name (hazard 43), and one after a beginning that was removed fails with
   * LogBeginningGone.
   */
  write(
    log: LogKey,
    at: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void>;
  dropSegment(log: LogKey, segment: number): Promise<void>;
  /** In order; none where there is no such log. What was written is read at once. */
  segments(log: LogKey): Promise<LogSegment[]>;
  /** At most so many bytes of a segment, from this position of the log on; none at its end. */
  read(log: LogKey, range: LogRange): Promise<Uint8Array>;
  /** Removes some logs of days before this one; true while there are more. */
  dropSome(options: { readonly beforeDay: string }): Promise<boolean>;
  close(): Promise<void>;
}

/** The log goes on after something that has been removed meanwhile, as old logs are. */
export class LogBeginningGone extends Error {}

/** The store does not answer, or refuses: what it holds cannot be read now. */
export class LogStoreUnavailable extends Error {}

/** The store leaves the rest of its disk free, and has told the operator. Its words may be shown to those whose run it is. */
export class LogDiskShort extends Error {
  readonly code = 'ENOSPC';
}

export function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
