/** Progress on a terminal: one line that is redrawn. Where there is no terminal, nothing is written. */
import { showDuration } from './text.ts';

const CLEAR_LINE = '\r\x1b[K';
const BAR_WIDTH = 30;

/** How much of a known amount of work is done. */
export class ProgressBar {
  readonly #terminal: NodeJS.WriteStream | undefined;
  readonly #total: number;
  readonly #word: string;
  #done = 0;

  /** word: what is done with each, where there is more than one bar. */
  constructor(total: number, terminal: NodeJS.WriteStream | undefined, word = '') {
    this.#total = total;
    this.#terminal = terminal;
    this.#word = word === '' ? '' : ` ${word}`;
    this.#draw();
  }

  advance(by = 1): void {
    this.#done = Math.min(this.#total, this.#done + by);
    this.#draw();
  }

  /** Clears the line for what is written next. */
  end(): void {
    this.#terminal?.write(CLEAR_LINE);
  }

  #draw(): void {
    if (!this.#terminal || this.#total === 0) return;
    const filled = Math.floor((this.#done / this.#total) * BAR_WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
    this.#terminal.write(`${CLEAR_LINE}${bar} ${this.#done}/${this.#total}${this.#word}`);
  }
}

/** Clears the bar when the work ends, in whatever way. */
export async function withBar<T>(
  terminal: NodeJS.WriteStream | undefined,
  total: number,
  work: (bar: ProgressBar) => Promise<T>,
  word?: string,
): Promise<T> {
  const bar = new ProgressBar(total, terminal, word);
  return work(bar).finally(() => bar.end());
}

const REDRAW_MS = 1_000;

/** What is awaited, and for how long. */
export class WaitingLine {
  readonly #terminal: NodeJS.WriteStream | undefined;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #awaited = '';
  #sinceMs = 0;

  constructor(terminal: NodeJS.WriteStream | undefined, now: () => number = Date.now) {
    this.#terminal = terminal;
    this.#now = now;
  }

  start(awaited: string): void {
    if (!this.#terminal) return;
    this.#awaited = awaited;
    this.#sinceMs = this.#now();
    this.#timer ??= setInterval(() => this.draw(), REDRAW_MS).unref();
  }

  draw(): void {
    const seconds = Math.floor((this.#now() - this.#sinceMs) / 1_000);
    const forHowLong = showDuration(seconds * 1_000).replace('.0 s', ' s');
    this.#terminal?.write(`${CLEAR_LINE}${this.#awaited} for ${forHowLong}; Ctrl-C ends the watching`);
  }

  /** Clears the line for what is written next. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal?.write(CLEAR_LINE);
  }
}
