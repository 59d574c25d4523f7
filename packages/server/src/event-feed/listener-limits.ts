/** How many streams may be open at the same time, in total and for each caller: of events and of live updates together. */
import { type Caller, callerKey, Refusal } from '@carillon/domain';

const LISTENERS_PER_CALLER_MAX = 50;

export class ListenerLimits {
  readonly #max: number;
  readonly #perCaller = new Map<string, number>();
  #open = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get open(): number {
    return this.#open;
  }

  /** Answers what gives the place back; once is enough. */
  admit(caller: Caller): () => void {
    const key = callerKey(caller);
    const count = this.#perCaller.get(key) ?? 0;
    if (count >= LISTENERS_PER_CALLER_MAX) {
      throw new Refusal('too_many_listeners', `${caller.name} already follows the events ${count} times.`);
    }
    if (this.#open >= this.#max) {
      throw new Refusal('overloaded', `${this.#open} readers already follow the events of this server.`);
    }
    this.#open += 1;
    this.#perCaller.set(key, count + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open -= 1;
      const left = this.#perCaller.get(key)! - 1;
      if (left > 0) this.#perCaller.set(key, left);
      else this.#perCaller.delete(key);
    };
  }
}
