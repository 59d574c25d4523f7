/** What a script says, on its way to its run: output, progress, checkpoints, and what it wants to be answered. */
import type { JsonValue } from '@carillon/domain';
import type { RunContext } from '../../handler.ts';
import type { ControlListener } from './control-lines.ts';
import type { SaidWords } from './script-end.ts';

export class ScriptWords implements ControlListener, SaidWords {
  readonly #context: RunContext;
  answer: { readonly value: JsonValue } | undefined;
  failure: { readonly error: string; readonly retryable: boolean } | undefined;
  #tail = Buffer.alloc(0);
  #next: { readonly value: JsonValue } | undefined;
  #saving: Promise<void> | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  get lastErrors(): string {
    return this.#tail.toString('utf8');
  }

  output(stream: 'stdout' | 'stderr', bytes: Buffer): Promise<void> | undefined {
    if (stream === 'stderr')
      this.#tail = Buffer.concat([this.#tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    return this.#context.log.write(stream, bytes);
  }

  progress(percent: number, message: string | undefined): void {
    this.#context.progress(percent, message);
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

  note(text: string): void {
    note(this.#context, text);
  }
}

const TAIL_BYTES = 4_096;

export function note({ log }: RunContext, text: string): void {
  void log.write('system', Buffer.from(`${text}\n`));
}
