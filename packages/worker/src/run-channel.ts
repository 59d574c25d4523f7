/**
 * What a run says while it goes on: output, progress, checkpoints. A port: the engine writes to it, and whoever gave the worker its runs
 * keeps what is written. Every call names the handing-out of the run (lease, position, epoch), so that what an attempt says after
 * the run was given to another is refused.
 */
import type { JobId, LeaseId, RunId } from '@carillon/domain';

/** stdout and stderr of a program; system: what Carillon itself has to say about the run. */
export type OutputStream = 'stdout' | 'stderr' | 'system';

export interface OutputChunk {
  readonly stream: OutputStream;
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

export interface Progress {
  /** From 0 to 100. */
  readonly percent: number;
  readonly message?: string | undefined;
}

/** One handing-out of one run. */
export interface HeldRun {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly claimedAtMs: number;
  /** It was handed out before this stream was opened: what it said until then was kept by another server, or by an earlier process. */
  readonly isFromEarlier?: boolean | undefined;
}

export interface RunChannel {
  /** A promise when no more should be written before it resolves. It never fails: output that is lost is marked in the log. */
  output(run: HeldRun, chunk: OutputChunk): Promise<void> | undefined;
  /** The latest counts; earlier ones may never be seen. */
  progress(run: HeldRun, progress: Progress): void;
  /**
   * JSON text; whoever keeps it refuses what is none, and what is too large (requireCheckpoint). Resolves when it is durable. sequence: grows with every checkpoint of the attempt, where it comes from a worker that may
   * have sent others to another server; left out: they come in order.
   */
  saveCheckpoint(run: HeldRun, value: string, sequence?: number): Promise<void>;
  /** Left out: nobody takes them. */
  readonly results?: LargeResults;
  /** Left out: nobody takes them. */
  readonly artifacts?: RunArtifacts;
  /** Nothing more is written for this handing-out. Resolves when its output is kept or given up: then its outcome may be reported. */
  close(run: HeldRun): Promise<void> | undefined;
}

/** Results that are too large for an outcome. */
export interface LargeResults {
  /** Of one result; 0: none is taken now. */
  readonly bytesMax: number;
  /** Answers the JSON text that stands for it in the outcome, when it is kept. */
  save(run: HeldRun, bytes: Uint8Array): Promise<string>;
}

/** Files that a run leaves, as domain/run/run-artifacts.ts writes them. */
export interface RunArtifacts {
  /** Of all files of one attempt; 0: none are taken now. */
  readonly bytesMax: number;
  /** Resolves when they are kept. parts: from the beginning on, perhaps more than once; each of at most 256 KiB. */
  save(run: HeldRun, parts: () => AsyncIterable<Uint8Array>): Promise<void>;
}

/** For tests and engines that keep nothing of what their runs say. */
export const SILENT_CHANNEL: RunChannel = {
  output: () => undefined,
  progress: () => undefined,
  saveCheckpoint: async () => undefined,
  close: () => undefined,
};
