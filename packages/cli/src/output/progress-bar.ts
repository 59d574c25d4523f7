/** How far a long piece of work is: a bar where there is a terminal to draw on, and nothing at all elsewhere. */
const WIDTH = 30;

export class ProgressBar {
  readonly #terminal: NodeJS.WriteStream | undefined;
  readonly #total: number;
  #done = 0;

  constructor(total: number, terminal: NodeJS.WriteStream | undefined) {
    this.#total = total;
    this.#terminal = terminal;
    this.#draw();
  }

  advance(by = 1): void {
    this.#done = Math.min(this.#total, this.#done + by);
    this.#draw();
  }

  /** Takes the bar away: what comes next is written on a clean line. */
  end(): void {
    this.#terminal?.write('\r\x1b[K');
  }

  #draw(): void {
    if (!this.#terminal || this.#total === 0) return;
    const filled = Math.floor((this.#done / this.#total) * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    this.#terminal.write(`\r\x1b[K${bar} ${this.#done}/${this.#total}`);
  }
}
