/**
 * The lines of a log as they come: kept up to a bound, from which the oldest are left out and counted. Readers are told once per
 * frame, however fast lines come.
 */

export interface LogRow {
  readonly number: number;
  readonly kind: 'line' | 'attempt';
  readonly at: string;
  readonly stream: 'stdout' | 'stderr' | 'system';
  readonly text: string;
}

export const ROWS_MAX = 200_000;
/** Rows are dropped in blocks: one by one would copy the array for every line. */
const DROPPED_AT_ONCE = 20_000;

export class LogBuffer {
  #rows: LogRow[] = [];
  #left = 0;
  #count = 0;
  #version = 0;
  #pending = false;
  readonly #listeners = new Set<() => void>();
  readonly #schedule: (tell: () => void) => void;

  /** `schedule` runs what it is given a little later, such as with the next frame. */
  constructor(schedule: (tell: () => void) => void) {
    this.#schedule = schedule;
  }

  add(row: Omit<LogRow, 'number'>): void {
    this.#count += 1;
    this.#rows.push({ ...row, number: this.#count });
    if (this.#rows.length > ROWS_MAX + DROPPED_AT_ONCE) {
      this.#rows = this.#rows.slice(DROPPED_AT_ONCE);
      this.#left += DROPPED_AT_ONCE;
    }
    this.#tell();
  }

  get rows(): readonly LogRow[] {
    return this.#rows;
  }

  /** Rows that are not kept any more. */
  get left(): number {
    return this.#left;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Another number whenever there is something new. */
  readonly version = (): number => this.#version;

  #tell(): void {
    if (this.#pending) return;
    this.#pending = true;
    this.#schedule(() => {
      this.#pending = false;
      this.#version += 1;
      for (const listener of this.#listeners) listener();
    });
  }
}
