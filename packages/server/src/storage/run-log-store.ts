/**
 * Which attempts have said something, and which server has it. The text itself is in the log store. A worker that goes to another server
 * in the middle of an attempt leaves a part of the log at each.
 */
import type { NodeId, RunId } from '@carillon/domain';

export interface RunLogRecord {
  readonly runId: RunId;
  readonly epoch: number;
  /** The day, in UTC, under which the log store keeps it, such as 2030-01-31. */
  readonly day: string;
  /** The server that has it in a folder of its own; undefined: every server reaches it. */
  readonly nodeId: NodeId | undefined;
  /** Which server wrote it where every server reaches it; undefined where `nodeId` is given. */
  readonly writer?: NodeId | undefined;
  /** Of all that was written, kept or not. */
  readonly bytes: number;
  readonly lines: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly ended: boolean;
  /** Some of it could not be kept. */
  readonly incomplete: boolean;
}

export interface RunLogStore {
  /**
   * Each attempt and server at most once per call. What is recorded of an attempt replaces what was recorded of it by the same server
   * before.
   */
  recordLogs(records: readonly RunLogRecord[]): Promise<void>;
  /** Of one run, in the order in which it was handed out. What several servers wrote of one attempt: in the order in which they began. */
  logsOf(runId: RunId): Promise<RunLogRecord[]>;
  /** What this server wrote and has not ended, in the order of runs, from after a run on; at most limit. */
  openLogs(page: {
    readonly of: NodeId;
    readonly after: RunId | undefined;
    readonly limit: number;
  }): Promise<RunLogRecord[]>;
  /** Forgets what is of days before this one, a bounded number at a time; answers how many. */
  dropLogs(options: { readonly beforeDay: string }): Promise<number>;
}
