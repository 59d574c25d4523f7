/** For tests of the script handler: a run over a channel that remembers what was said. */
import type { JsonValue } from '@carillon/domain';
import { claimedRun } from '../../claimed-run.fixture.ts';
import type { Handler } from '../../handler.ts';
import { outcomeOfAnswer, outcomeOfError } from '../../outcome-of.ts';
import type { OutputStream, Progress, RunChannel } from '../../run-channel.ts';
import { RunInProgress } from '../../run-in-progress.ts';
import type { RunTrust } from '../../worker-trust.ts';
import { createScriptHandler, type ScriptHandlerOptions } from './script-handler.ts';

export class RecordingChannel implements RunChannel {
  readonly chunks: { stream: OutputStream; bytes: Buffer }[] = [];
  readonly progressed: Progress[] = [];
  readonly checkpoints: JsonValue[] = [];

  output(
    _: unknown,
    { stream, bytes }: { stream: OutputStream; bytes: Uint8Array },
  ): Promise<void> | undefined {
    this.chunks.push({ stream, bytes: Buffer.from(bytes) });
    return undefined;
  }

  progress(_: unknown, progress: Progress): void {
    this.progressed.push(progress);
  }

  async saveCheckpoint(_: unknown, value: string): Promise<void> {
    this.checkpoints.push(JSON.parse(value) as JsonValue);
  }

  close(): undefined {
    return undefined;
  }

  bytesOf(stream: OutputStream): Buffer {
    return Buffer.concat(this.chunks.filter((chunk) => chunk.stream === stream).map(({ bytes }) => bytes));
  }

  text(stream: OutputStream = 'stdout'): string {
    return this.bytesOf(stream).toString();
  }
}

/** Renewed by hand. */
export class TestTrust implements RunTrust {
  readonly #listeners = new Set<() => void>();
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(leftMs = 3_600_000) {
    this.renew(leftMs);
  }

  renew(leftMs: number): void {
    this.#untilMs = performance.now() + leftMs;
    for (const listener of this.#listeners) listener();
  }

  leftMs(): number {
    return this.#untilMs - performance.now();
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export interface StartScript {
  readonly payload: object;
  readonly options?: Partial<ScriptHandlerOptions>;
  /** Instead of a new one with the options. */
  readonly handler?: Handler;
  readonly checkpoint?: JsonValue;
  readonly secrets?: readonly string[];
  readonly channel?: RecordingChannel;
  readonly trust?: RunTrust;
}

/** Starts it, and answers its outcome as the engine would tell it. */
export function startScript(start: StartScript) {
  const { payload, options, checkpoint, secrets, trust, channel = new RecordingChannel() } = start;
  const { handler = createScriptHandler(options) } = start;
  const claimed = claimedRun({
    handler: 'script',
    payload: JSON.stringify(payload),
    ...(secrets && { secrets }),
    ...(checkpoint !== undefined && { checkpoint: JSON.stringify(checkpoint) }),
  });
  const run = new RunInProgress(claimed, Date.now(), { channel, ...(trust && { trust }) });
  const ended = Promise.resolve(handler(run)).then(
    (answer) => outcomeOfAnswer(run, answer),
    (error: unknown) => outcomeOfError(run, error),
  );
  return { run, channel, ended };
}

export async function runScript(start: StartScript) {
  const { channel, ended } = startScript(start);
  const outcome = await ended;
  return { outcome, channel, result: 'result' in outcome ? JSON.parse(outcome.result ?? 'null') : undefined };
}

/** An inline bash script. */
export function bash(script: string, more: object = {}): { payload: object } {
  return { payload: { interpreter: 'bash', script, ...more } };
}

export async function eventually(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}
