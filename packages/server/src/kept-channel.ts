/** Where what runs say goes: output, large results and files to the log store, progress and checkpoints to the storage. */
import type { Service } from '@carillon/foundation';
import type { HeldRun, OutputChunk, Progress } from '@carillon/worker';
import type { LogCloser } from './run-output/log-closer.ts';
import type { RunOutput } from './run-output/run-output.ts';
import type { PartedArtifacts } from './run-results/stored-artifacts.ts';
import type { HomeChannel, PartedResults } from './run-results/stored-results.ts';
import type { CheckpointSaver } from './run-state/checkpoint-saver.ts';
import type { ProgressWriter } from './run-state/progress-writer.ts';

export interface KeptChannelParts {
  readonly output: RunOutput;
  readonly closer: LogCloser;
  readonly progress: ProgressWriter;
  readonly checkpoints: CheckpointSaver;
  readonly results: PartedResults;
  readonly artifacts: PartedArtifacts;
}

export class KeptChannel implements HomeChannel, Service {
  readonly #parts: KeptChannelParts;

  constructor(parts: KeptChannelParts) {
    this.#parts = parts;
  }

  get results(): PartedResults {
    return this.#parts.results;
  }

  get artifacts(): PartedArtifacts {
    return this.#parts.artifacts;
  }

  async start(): Promise<void> {
    await this.#parts.output.start();
    this.#parts.closer.start();
  }

  /** After the runs have ended. */
  async stop(): Promise<void> {
    await this.#parts.closer.stop();
    await this.#parts.output.stop();
    this.#parts.progress.stop();
  }

  output(run: HeldRun, chunk: OutputChunk): Promise<void> | undefined {
    return this.#parts.output.output(run, chunk);
  }

  progress(run: HeldRun, progress: Progress): void {
    this.#parts.progress.tell(run, progress);
  }

  saveCheckpoint(run: HeldRun, value: string, sequence?: number): Promise<void> {
    return this.#parts.checkpoints.save(run, value, sequence);
  }

  /** Most runs say nothing, and need no promise. */
  close(run: HeldRun): Promise<void> | undefined {
    const output = this.#parts.output.close(run);
    const progress = this.#parts.progress.close(run);
    if (output === undefined || progress === undefined) return output ?? progress;
    return Promise.all([output, progress]).then(() => undefined);
  }
}
