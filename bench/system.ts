/**
 * The one interface every measured system implements, Carillon and its peers alike, so that one workload definition
 * drives them all. A system lives for one workload run on an empty store: start, submit, drain, the counts, stop.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type BenchJob = { readonly id: string };

/** Where a system finds its empty store. Each run gets a database of its own, or a flushed Redis. */
export type SystemEnv = { readonly databaseUrl: string; readonly redisUrl: string };

export interface System {
  readonly name: string;
  readonly version: string;

  /** Connects and creates the schema. Not timed. */
  start(env: SystemEnv): Promise<void>;

  /** Of other processes that are part of the system: their processor time counts as its own. */
  readonly processIds?: readonly number[];

  /** Hands the jobs to a system that lives in another process. Not timed. */
  prepare?(jobs: readonly BenchJob[]): Promise<void>;

  /** Accepts every job, in batches of the system's choosing; resolves when all are as durable as the store makes them. */
  submit(jobs: readonly BenchJob[]): Promise<void>;

  /**
   * Starts the workers and calls `onRun` from inside the job's handler, once each time a job runs. Resolves when `total`
   * jobs ran AND their outcomes are recorded in the store: a system that buffers completions waits for the flush.
   */
  drain(onRun: (id: string) => void, total: number): Promise<void>;

  /** What a system in another process ran, each time it did, since it cannot call back from there. Not timed. */
  tellRuns?(onRun: (id: string) => void): Promise<void>;

  /** Jobs the store still holds as waiting or running. Read from the store, not from the system's memory. */
  countUnfinished(): Promise<number>;

  /** Jobs the store holds as succeeded. Systems that delete them do less work and have no such count: the report says so. */
  countHistory?(): Promise<number>;

  /** Stops workers and closes connections. Not timed. */
  stop(): Promise<void>;
}

/** Of a package as installed, for the report: what ran, not what package.json hoped for. */
export function installedVersion(packageName: string): string {
  // Packages with an `exports` map hide their package.json from require: walk up from the entry point instead.
  let folder = dirname(fileURLToPath(import.meta.resolve(packageName)));
  while (folder !== dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const manifest = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
      if (manifest.name === packageName && manifest.version) return manifest.version;
    }
    folder = dirname(folder);
  }
  throw new Error(`no package.json found for ${packageName}`);
}
