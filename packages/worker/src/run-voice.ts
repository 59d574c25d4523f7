/** What a handler says through its run, on its way to the channel. Made when the handler first says something: most runs say nothing. */
import { type ClaimedRun, type JsonValue, RUN_ERRORS } from '@carillon/domain';
import { HandlerError, type RunCheckpoint, type RunLog } from './handler.ts';
import type { OutputStream, RunChannel } from './run-channel.ts';

export interface RunVoiceOptions {
  readonly run: ClaimedRun;
  readonly channel: RunChannel;
  readonly now: () => number;
}

export class RunVoice implements RunLog, RunCheckpoint {
  readonly #options: RunVoiceOptions;
  #isOpen = true;
  #saved: { readonly value: JsonValue } | undefined;
  /** The save under way, without its error. */
  #saving: Promise<void> | undefined;

  constructor(options: RunVoiceOptions) {
    this.#options = options;
  }

  info(text: string): void {
    void this.write('stdout', Buffer.from(`${text}\n`));
  }

  error(text: string): void {
    void this.write('stderr', Buffer.from(`${text}\n`));
  }

  write(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
    if (!this.#isOpen) return undefined;
    const { channel, run, now } = this.#options;
    return channel.output(run, { stream, atMs: now(), bytes });
  }

  progress(percent: number, message?: string): void {
    if (!this.#isOpen || Number.isNaN(percent)) return;
    const { channel, run } = this.#options;
    channel.progress(run, { percent: Math.min(Math.max(percent, 0), 100), message });
  }

  get value(): JsonValue | undefined {
    const { checkpoint } = this.#options.run;
    if (this.#saved === undefined && checkpoint !== undefined)
      this.#saved = { value: JSON.parse(checkpoint) as JsonValue };
    return this.#saved?.value;
  }

  /** An error that nobody waits for must not end the process. */
  save(value: JsonValue): Promise<void> {
    const saving = this.#save(value);
    const settled = saving
      .catch(() => undefined)
      .then(() => {
        if (this.#saving === settled) this.#saving = undefined;
      });
    this.#saving = settled;
    return saving;
  }

  async #save(value: JsonValue): Promise<void> {
    const text = JSON.stringify(value);
    if (text === undefined) throw new HandlerError('The checkpoint is not JSON.', { retryable: false });
    const { channel, run } = this.#options;
    if (!this.#isOpen) throw new HandlerError(RUN_ERRORS.givenUp());
    await channel.saveCheckpoint(run, text);
    this.#saved = { value };
  }

  /**
   * What is said after the end is dropped: it would stand beside what the next attempt says. A save that the handler did not wait
   * for is waited for here: once the run has ended it would be refused.
   */
  close(): Promise<void> | undefined {
    if (!this.#isOpen) return undefined;
    this.#isOpen = false;
    const { channel, run } = this.#options;
    if (this.#saving === undefined) return channel.close(run);
    return this.#saving.then(() => channel.close(run));
  }
}
