/**
 * Masks the secrets of one run in what a worker says of it. The library of the worker does so already; another program that speaks the
 * protocol may not.
 */
import { ERROR_LENGTH_MAX, type RunOutcome } from '@carillon/domain';
import { type MaskedStream, type OutputStream, SecretMask } from '@carillon/worker';

const NOT_MASKED = JSON.stringify({
  note: 'the result held a secret that could not be masked, and was not kept',
});

export class RunMask {
  readonly #mask: SecretMask;
  readonly #streams = new Map<OutputStream, MaskedStream>();

  private constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** Undefined: there is nothing to mask. */
  static of(secrets: readonly string[] | undefined): RunMask | undefined {
    const mask = SecretMask.of(secrets);
    return mask && new RunMask(mask);
  }

  /** What may be kept now; undefined: nothing. */
  output(stream: OutputStream, bytes: Uint8Array): Uint8Array | undefined {
    const masked = this.#streams.get(stream) ?? this.#mask.stream();
    this.#streams.set(stream, masked);
    return masked.push(bytes);
  }

  /** What was kept back of each stream. isCut: it was stopped, perhaps within a secret. */
  rest({ isCut }: { isCut: boolean }): { stream: OutputStream; bytes: Uint8Array }[] {
    return [...this.#streams].flatMap(([stream, masked]) => {
      const bytes = isCut ? masked.cut() : masked.end();
      return bytes ? [{ stream, bytes }] : [];
    });
  }

  text(text: string): string {
    return this.#mask.text(text);
  }

  outcome(outcome: RunOutcome): RunOutcome {
    const masked = { ...outcome } as { error?: string; result?: string };
    if (masked.error !== undefined) masked.error = this.#error(masked.error);
    if (masked.result !== undefined) masked.result = this.#json(masked.result);
    return masked as RunOutcome;
  }

  /** A worker that masks nothing may have told a longer one, which was cut when it was read. */
  #error(error: string): string {
    return error.length < ERROR_LENGTH_MAX ? this.text(error) : this.#mask.cutText(error);
  }

  #json(result: string): string {
    const masked = this.text(result);
    if (masked === result) return result;
    try {
      JSON.parse(masked);
      return masked;
    } catch {
      return NOT_MASKED;
    }
  }
}
