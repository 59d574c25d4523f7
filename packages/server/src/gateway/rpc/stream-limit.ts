/** Bounds how many streams of one kind are open: in total, and for each caller or address. */
import { Refusal } from '@carillon/domain';

export interface StreamLimitOptions {
  /** What they do, before "… 4 times from there already": a sentence without its end. */
  readonly what: string;
  readonly eachMax: number;
  readonly totalMax: number;
}

export class StreamLimit {
  readonly #options: StreamLimitOptions;
  readonly #each = new Map<string, number>();
  #total = 0;

  constructor(options: StreamLimitOptions) {
    this.#options = options;
  }

  /** Answers how to leave. */
  join(who: string): () => void {
    const { what, eachMax, totalMax } = this.#options;
    const count = this.#each.get(who) ?? 0;
    if (count >= eachMax) {
      const message = `${what} ${count} times from there already; close one of these streams.`;
      throw new Refusal('too_many_listeners', message);
    }
    if (this.#total >= totalMax) throw new Refusal('overloaded', `${what} too many times already.`);
    this.#total += 1;
    this.#each.set(who, count + 1);
    return () => {
      this.#total -= 1;
      const left = this.#each.get(who)! - 1;
      if (left > 0) this.#each.set(who, left);
      else this.#each.delete(who);
    };
  }
}
