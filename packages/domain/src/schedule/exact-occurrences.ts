/**
 * The instants of an exact interval: anchor, anchor + interval, anchor + 2 intervals ... Every answer is one division,
 * whatever the distance, and the rhythm never drifts because nothing is ever added up.
 */
import { MAX_INSTANT_MS } from './civil-date.ts';
import type { OccurrenceCount, Occurrences } from './schedule.ts';

export class ExactOccurrences implements Occurrences {
  readonly #anchorMs: number;
  readonly #everyMs: number;

  constructor(anchorMs: number, everyMs: number) {
    this.#anchorMs = anchorMs;
    this.#everyMs = everyMs;
  }

  next(afterMs: number): number | undefined {
    const index = Math.max(0, Math.floor((afterMs - this.#anchorMs) / this.#everyMs) + 1);
    const instantMs = this.#anchorMs + index * this.#everyMs;
    return instantMs <= MAX_INSTANT_MS ? instantMs : undefined;
  }

  previous(atMs: number, floorMs: number): number | undefined {
    const index = Math.floor((Math.min(atMs, MAX_INSTANT_MS) - this.#anchorMs) / this.#everyMs);
    const instantMs = this.#anchorMs + index * this.#everyMs;
    return index >= 0 && instantMs >= floorMs ? instantMs : undefined;
  }

  count(fromMs: number, toMs: number): OccurrenceCount {
    const first = Math.max(0, Math.ceil((fromMs - this.#anchorMs) / this.#everyMs));
    const last = Math.floor((Math.min(toMs, MAX_INSTANT_MS) - this.#anchorMs) / this.#everyMs);
    return { count: Math.max(0, last - first + 1), exact: true };
  }
}
