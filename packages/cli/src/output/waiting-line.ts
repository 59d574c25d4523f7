/** That something is waited for, and for how long: one line that is drawn over, on a terminal, and nothing at all elsewhere. */
import { showDuration } from './times.ts';

const REDRAW_MS = 1_000;

export class WaitingLine {
  readonly #terminal: NodeJS.WriteStream | undefined;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #what = '';
  #sinceMs = 0;

  constructor(terminal: NodeJS.WriteStream | undefined, now: () => number = Date.now) {
    this.#terminal = terminal;
    this.#now = now;
  }

  /** From now on this is waited for. */
  start(what: string): void {
    if (!this.#terminal) return;
    this.#what = what;
    this.#sinceMs = this.#now();
    this.#timer ??= setInterval(() => this.draw(), REDRAW_MS).unref();
  }

  draw(): void {
    const seconds = Math.floor((this.#now() - this.#sinceMs) / 1_000);
    const forHowLong = showDuration(seconds * 1_000).replace('.0 s', ' s');
    this.#terminal?.write(`\r\x1b[K${this.#what} for ${forHowLong}; Ctrl-C ends the watching`);
  }

  /** Takes the line away: what comes next is written on a clean one. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal?.write('\r\x1b[K');
  }
}
