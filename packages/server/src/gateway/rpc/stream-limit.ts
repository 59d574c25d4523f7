/** Bounds how many streams of one kind are open: in total, for each caller or address, and for whatever else they share. */
import { Refusal } from '@carillon/domain';

export interface StreamLimitOptions {
  /** What they do, before "… 4 times from there already": a sentence without its end. */
  readonly what: string;
  readonly eachMax: number;
  readonly totalMax: number;
}

export interface StreamShare {
  /** No name of a caller. */
  readonly of: string;
  readonly max: number;
  /** As in "… 4 times for the namespace a already". */
  readonly words: string;
}

export class StreamLimit {
  readonly #options: StreamLimitOptions;
  readonly #each = new Map<string, number>();
  #total = 0;

  constructor(options: StreamLimitOptions) {
    this.#options = options;
  }

  /** Answers how to leave. shares: what else it counts for. */
  join(who: string, shares: readonly StreamShare[] = []): () => void {
    const { what, eachMax, totalMax } = this.#options;
    const all: StreamShare[] = [{ of: who, max: eachMax, words: 'from there' }, ...shares];
    for (const { of, max, words } of all) {
      const count = this.#each.get(of) ?? 0;
      if (count < max) continue;
      const message = `${what} ${count} times ${words} already; close one of these streams.`;
      throw new Refusal('too_many_listeners', message);
    }
    if (this.#total >= totalMax) throw new Refusal('overloaded', `${what} too many times already.`);
    this.#total += 1;
    for (const { of } of all) this.#each.set(of, (this.#each.get(of) ?? 0) + 1);
    return () => {
      this.#total -= 1;
      for (const { of } of all) {
        const left = this.#each.get(of)! - 1;
        if (left > 0) this.#each.set(of, left);
        else this.#each.delete(of);
      }
    };
  }
}
