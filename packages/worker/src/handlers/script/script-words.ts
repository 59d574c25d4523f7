/** What a script says, on its way to its run: output, progress, checkpoints, and what it wants to be answered. */
import type { JsonValue } from '@carillon/domain';
import type { RunContext } from '../../handler.ts';
import type { MaskedStream } from '../../secret-mask.ts';
import type { ControlListener } from './control-lines.ts';
import type { SaidWords } from './script-end.ts';

export class ScriptWords implements ControlListener, SaidWords {
  readonly #context: RunContext;
  answer: { readonly value: JsonValue } | undefined;
  failure: { readonly error: string; readonly retryable: boolean } | undefined;
  /** Masked before it is cut. */
  #tail = Buffer.alloc(0);
  readonly #maskedErrors: MaskedStream | undefined;
  #next: { readonly value: JsonValue } | undefined;
  #saving: Promise<void> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
    this.#maskedErrors = context.mask?.stream();
  }

  get lastErrors(): string {
    return this.#tail.toString('utf8');
  }

  output(stream: 'stdout' | 'stderr', bytes: Buffer): Promise<void> | undefined {
    if (stream === 'stderr') this.#keep(this.#maskedErrors ? this.#maskedErrors.push(bytes) : bytes);
    return this.#context.log.write(stream, bytes);
  }

  /** There is no more output: how the script ended is the last line of the log. isCut: it was stopped, perhaps within a secret. */
  end(isCut: boolean): void {
    this.#keep(isCut ? this.#maskedErrors?.cut() : this.#maskedErrors?.end());
    this.#context.log.endLines({ isCut });
  }

  #keep(bytes: Uint8Array | undefined): void {
    if (bytes) this.#tail = Buffer.concat([this.#tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
  }

  progress(percent: number, message: string | undefined): void {
    try {
      this.#context.progress(percent, message);
    } catch (error) {
      this.note(`progress was not shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** One is being saved at a time; of those that come meanwhile the last one counts. */
  checkpoint(value: JsonValue): void {
    this.#next = { value };
    this.#saving ??= this.#saveAll();
  }

  async #saveAll(): Promise<void> {
    while (this.#next) {
      const { value } = this.#next;
      this.#next = undefined;
      try {
        await this.#context.checkpoint.save(value);
      } catch (error) {
        this.note(`a checkpoint was not saved: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    this.#saving = undefined;
  }

  /** Resolves when the last checkpoint is durable or given up. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  result(value: JsonValue): void {
    this.answer = { value };
  }

  fail(error: string, retryable: boolean): void {
    this.failure = { error, retryable };
  }

  masked(text: string): string {
    return this.#context.mask?.text(text) ?? text;
  }

  note(text: string): void {
    note(this.#context, text);
  }
}

const TAIL_BYTES = 4_096;

export function note({ log }: RunContext, text: string): void {
  void log.write('system', Buffer.from(`${text}\n`));
}
