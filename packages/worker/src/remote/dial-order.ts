/**
 * Which server a worker dials next: one after the other, and those that refuse the worker not again for a while. One that refuses it
 * never keeps the worker from the others: runs wait for their worker for a shorter time than it waits before it asks that one again.
 */
import type { Clock } from '@carillon/foundation';

const REFUSED_PAUSE_MS = 30_000;

export class DialOrder {
  readonly #servers: readonly string[];
  readonly #clock: Clock;
  #next = 0;
  /** Dials since the last welcome. */
  #dials = 0;
  /** By address, since the last welcome; until when it is left out, monotonic. */
  readonly #refusals = new Map<string, { readonly reason: string; readonly until: number }>();

  constructor({ servers, clock }: { servers: readonly string[]; clock: Clock }) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** In turn, but for those that have refused the worker just now, unless all have. */
  take(): string {
    const now = this.#clock.monotonic();
    const turns = this.#servers.map((_, i) => this.#next + i);
    const isLeftOut = (turn: number) => (this.#refusals.get(this.#at(turn))?.until ?? now) > now;
    const turn = turns.find((each) => !isLeftOut(each)) ?? this.#next;
    this.#next = turn + 1;
    this.#dials += 1;
    return this.#at(turn);
  }

  /** The last dial failed, and a server that was not tried since follows. */
  get isWithinRound(): boolean {
    return this.#dials % this.#servers.length !== 0;
  }

  welcomed(): void {
    this.#dials = 0;
    this.#refusals.clear();
  }

  /** It failed in another way. */
  failed(server: string): void {
    this.#refusals.delete(server);
  }

  /** Answers what all servers said, and when the first of them may be asked again; undefined while there are others to dial. */
  refused(server: string, reason: string): { readonly reasons: string; readonly until: number } | undefined {
    this.#refusals.set(server, { reason, until: this.#clock.monotonic() + REFUSED_PAUSE_MS });
    if (!this.#servers.every((each) => this.#refusals.has(each))) return undefined;
    const words = Array.from(this.#refusals, ([each, said]) => `${each} refuses this worker: ${said.reason}`);
    const until = Math.min(...Array.from(this.#refusals.values(), (said) => said.until));
    return { reasons: words.join('; '), until };
  }

  #at(turn: number): string {
    return this.#servers[turn % this.#servers.length]!;
  }
}
