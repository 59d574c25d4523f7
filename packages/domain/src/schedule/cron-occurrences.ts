/**
 * The instants of a cron rule in a zone, segment by segment of constant offset, so that daylight saving is decided here
 * and nowhere else. The calendar says which day comes next, and only segments around such days are asked for, in at most
 * four buckets for each. A search goes on to another day only where a gap has swallowed all times of this one.
 *
 *
 * - A rhythm (see CronRule.isRhythm) fires whenever the clock of the zone shows an admitted time: in both halves of an
 *   overlap, and not on account of a gap, in which no time passes.
 * - Fixed times fire once per local time: a time within a gap runs at the first instant after it (all times within the
 *   gap together once) or is skipped; a time within an overlap runs in the first half, the second, or both.
 */
import { DAY_MS, MAX_INSTANT_MS, MIN_INSTANT_MS } from './civil-date.ts';
import type { CronCalendar } from './cron-calendar.ts';
import type { DaylightSavingPolicy, OccurrenceCount, Occurrences } from './schedule.ts';
import { segmentAt, type ZoneSegment } from './zone-segments.ts';

/** More than any clock ever jumped (24 h), plus the distance between local time and UTC. */
const FAR_MS = 3 * DAY_MS;

export class CronOccurrences implements Occurrences {
  readonly #calendar: CronCalendar;
  readonly #isRhythm: boolean;
  readonly #zone: string;
  readonly #policy: DaylightSavingPolicy;

  constructor(calendar: CronCalendar, zone: string, policy: DaylightSavingPolicy) {
    this.#calendar = calendar;
    this.#isRhythm = calendar.rule.isRhythm;
    this.#zone = zone;
    this.#policy = policy;
  }

  next(afterMs: number): number | undefined {
    const fromMs = Math.max(MIN_INSTANT_MS, Math.floor(afterMs) + 1);
    let searchMs = fromMs;
    while (searchMs <= MAX_INSTANT_MS) {
      const segment = segmentAt(this.#zone, searchMs);
      if (segment.fromMs >= fromMs && this.#firesAfterGap(segment)) return within(segment.fromMs);
      const lowMs = Math.max(this.#localFrom(segment), fromMs + segment.offsetMs);
      const highMs = this.#localTo(segment);
      const localMs = this.#calendar.next(lowMs);
      if (localMs < highMs) return within(localMs - segment.offsetMs);
      // Nothing lies between here and localMs: leap over the segments in between. Not when the segment is about to end,
      // where an overlap may show earlier local times again.
      const leapMs = highMs - lowMs > FAR_MS ? localMs - FAR_MS : 0;
      searchMs = Math.max(segment.toMs, leapMs);
    }
    return undefined;
  }

  previous(atMs: number, floorMs: number): number | undefined {
    const lastMs = Math.min(MAX_INSTANT_MS, atMs);
    const firstMs = Math.max(MIN_INSTANT_MS, floorMs);
    let searchMs = lastMs;
    while (searchMs >= firstMs) {
      const segment = segmentAt(this.#zone, searchMs);
      const lowMs = this.#localFrom(segment);
      const highMs = Math.min(this.#localTo(segment) - 1, lastMs + segment.offsetMs);
      const localMs = this.#calendar.previous(highMs);
      if (localMs >= lowMs) return notBefore(firstMs, localMs - segment.offsetMs);
      if (this.#firesAfterGap(segment)) return notBefore(firstMs, segment.fromMs);
      // As above, backwards: also a gap between here and there holds nothing.
      const leapMs = highMs - lowMs > FAR_MS ? localMs + FAR_MS : Number.POSITIVE_INFINITY;
      searchMs = Math.min(segment.fromMs - 1, leapMs);
    }
    return undefined;
  }

  count(fromMs: number, toMs: number): OccurrenceCount {
    const firstMs = Math.max(MIN_INSTANT_MS, fromMs);
    const lastMs = Math.min(MAX_INSTANT_MS, toMs);
    let count = 0;
    let searchMs = firstMs;
    while (searchMs <= lastMs) {
      const segment = segmentAt(this.#zone, searchMs);
      const lowMs = Math.max(this.#localFrom(segment), firstMs + segment.offsetMs);
      const highMs = Math.min(this.#localTo(segment), lastMs + 1 + segment.offsetMs);
      count += this.#calendar.count(lowMs, highMs);
      // A time that lies right at the end of the gap is the same instant: one occurrence.
      const startLocalMs = segment.fromMs + segment.offsetMs;
      const startsOnTime = this.#calendar.next(startLocalMs) === startLocalMs;
      if (segment.fromMs >= firstMs && !startsOnTime && this.#firesAfterGap(segment)) count += 1;
      searchMs = segment.toMs;
    }
    return { count, exact: true };
  }

  /** The local times of the segment that count begin here: without the second half of an overlap that counts once. */
  #localFrom(segment: ZoneSegment): number {
    const dropsSecondHalf = !this.#isRhythm && this.#policy.overlap === 'first';
    const shownBefore = dropsSecondHalf && segment.previousOffsetMs > segment.offsetMs;
    return segment.fromMs + (shownBefore ? segment.previousOffsetMs : segment.offsetMs);
  }

  /** ... and end before here: without the first half of an overlap of which the second counts. */
  #localTo(segment: ZoneSegment): number {
    const dropsFirstHalf = !this.#isRhythm && this.#policy.overlap === 'second';
    const shownAgain = dropsFirstHalf && segment.nextOffsetMs < segment.offsetMs;
    return segment.toMs + (shownAgain ? segment.nextOffsetMs : segment.offsetMs);
  }

  /** A fixed time lies in the gap before the segment, and the policy wants it right after. */
  #firesAfterGap(segment: ZoneSegment): boolean {
    if (this.#isRhythm || this.#policy.gap !== 'run_after') return false;
    if (segment.offsetMs <= segment.previousOffsetMs) return false;
    const gapFromMs = segment.fromMs + segment.previousOffsetMs;
    return this.#calendar.next(gapFromMs) < segment.fromMs + segment.offsetMs;
  }
}

function within(instantMs: number): number | undefined {
  return instantMs <= MAX_INSTANT_MS ? instantMs : undefined;
}

function notBefore(floorMs: number, instantMs: number): number | undefined {
  return instantMs >= floorMs ? instantMs : undefined;
}
