/** What a handler says through its run, on its way to the channel. Made when the handler first says something: most runs say nothing. */
import { type ClaimedRun, type JsonValue, RUN_ERRORS } from '@carillon/domain';
import { checkpointNotJson, readProgress, requireCheckpointSize } from './check-run-state.ts';
import { HandlerError, type RunCheckpoint, type RunLog } from './handler.ts';
import type { OutputStream, RunChannel } from './run-channel.ts';
import type { MaskedStream, SecretMask } from './secret-mask.ts';

const NEWLINE = Buffer.from('\n');

export interface RunVoiceOptions {
  readonly run: ClaimedRun;
  readonly channel: RunChannel;
  readonly now: () => number;
  /** Of the run's secrets. */
  readonly mask?: SecretMask | undefined;
  /** Aborted when the run must stop. Left out: it never must. */
  readonly signal?: (() => AbortSignal) | undefined;
  /** How long a checkpoint may be on its way once the run must stop. */
  readonly saveMsMax?: number;
}

/** Less than a handler has to return: one that waits for its save must not be taken for one that does not stop. */
const SAVE_MS_MAX = 1_000;

export class RunVoice implements RunLog, RunCheckpoint {
  readonly #options: RunVoiceOptions;
  #isOpen = true;
  /** What a secret may begin with is kept back, so each stream is masked by itself. */
  #masked: Map<OutputStream, MaskedStream> | undefined;
  /** Whose last line has no end yet; the line that began first stands first. */
  readonly #unended = new Set<OutputStream>();
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
    const shown = this.#options.mask ? this.#streamOf(stream, this.#options.mask).push(bytes) : bytes;
    return shown && this.#send(stream, shown);
  }

  endLines({ isCut = false }: { isCut?: boolean } = {}): void {
    if (!this.#isOpen) return;
    this.#sendHeld(isCut);
    for (const stream of [...this.#unended]) void this.#send(stream, NEWLINE);
  }

  progress(percent: number, message?: string): void {
    const progress = this.#isOpen ? readProgress({ percent, message }) : undefined;
    if (!progress) return;
    const { channel, run, mask } = this.#options;
    const shown = message === undefined ? undefined : (mask?.text(message) ?? message);
    channel.progress(run, { ...progress, message: shown });
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
    if (text === undefined) throw checkpointNotJson();
    const { channel, run } = this.#options;
    if (!this.#isOpen) throw new HandlerError(RUN_ERRORS.givenUp());
    // Before it is sent: a frame that is too large would cost the whole stream, again and again.
    requireCheckpointSize(text);
    await this.#unlessStopped(channel.saveCheckpoint(run, text));
    this.#saved = { value };
  }

  /** While the database is away a save lasts; when the run has to stop meanwhile, its handler must hear of that. */
  async #unlessStopped(saving: Promise<void>): Promise<void> {
    const signal = this.#options.signal?.();
    if (!signal) return saving;
    const { promise: late, reject } = Promise.withResolvers<never>();
    let timer: NodeJS.Timeout | undefined;
    const begin = () => {
      const { saveMsMax = SAVE_MS_MAX } = this.#options;
      timer = setTimeout(() => reject(new HandlerError(RUN_ERRORS.checkpointLate())), saveMsMax);
    };
    if (signal.aborted) begin();
    else signal.addEventListener('abort', begin, { once: true });
    try {
      await Promise.race([saving, late]);
    } finally {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    }
  }

  /**
   * What is said after the end is dropped: it would stand beside what the next attempt says. A save that the handler did not wait
   * for is waited for here: once the run has ended it would be refused. isCut: it was stopped, perhaps within a secret.
   */
  close({ isCut = false }: { isCut?: boolean } = {}): Promise<void> | undefined {
    if (!this.#isOpen) return undefined;
    this.#isOpen = false;
    this.#sendHeld(isCut);
    const { channel, run } = this.#options;
    if (this.#saving === undefined) return channel.close(run);
    return this.#saving.then(() => channel.close(run));
  }

  #sendHeld(isCut: boolean): void {
    for (const [stream, masked] of this.#masked ?? []) {
      const rest = isCut ? masked.cut() : masked.end();
      if (rest) void this.#send(stream, rest);
    }
  }

  #send(stream: OutputStream, bytes: Uint8Array): Promise<void> | undefined {
    const { channel, run, now } = this.#options;
    const lastEnd = bytes.lastIndexOf(NEWLINE[0]!);
    if (lastEnd >= 0) this.#unended.delete(stream);
    if (lastEnd < bytes.length - 1) this.#unended.add(stream);
    return channel.output(run, { stream, atMs: now(), bytes });
  }

  #streamOf(stream: OutputStream, mask: SecretMask): MaskedStream {
    this.#masked ??= new Map();
    const masked = this.#masked.get(stream) ?? mask.stream();
    this.#masked.set(stream, masked);
    return masked;
  }
}
