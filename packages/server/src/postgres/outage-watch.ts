/** Tells that the database cannot be used: when that begins, every half minute while it lasts, and when it is over. */
import { type Clock, LastingCondition, type Log } from '@carillon/foundation';

export class OutageWatch {
  readonly #log: Log;
  readonly #condition: LastingCondition;
  #failures = 0;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#log = log;
    this.#condition = new LastingCondition({ clock });
  }

  failed({ message }: Error): void {
    this.#failures += 1;
    if (!this.#condition.notice()) return;
    const facts = { reason: message, failures: this.#failures };
    this.#log.warn(facts, 'the database cannot be used; what needs it is tried again');
  }

  answered(): void {
    if (this.#failures === 0) return;
    const failures = this.#failures;
    this.#failures = 0;
    const lastedMs = this.#condition.end();
    if (lastedMs !== undefined) this.#log.info({ lastedMs, failures }, 'the database can be used again');
  }
}
