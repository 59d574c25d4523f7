/**
 * From a wall-clock time to the instants at which a clock in that zone shows it: one, two (clocks went back), or none
 * (clocks went forward). Local times are written as the UTC milliseconds at which a clock in UTC shows the same.
 */
import { DAY_MS } from './civil-date.ts';
import type { DaylightSavingPolicy } from './schedule.ts';
import { offsetAt, segmentAt } from './zone-segments.ts';

export interface WallClockMatch {
  /** The instants at which the zone shows this local time, in order. */
  readonly instants: readonly number[];
  /** When there is none: the first instant after the gap that swallowed it. */
  readonly afterGapMs: number | undefined;
}

/** Offsets lie between -12 h and +14 h, so whatever shows this local time lies within a day of it. */
const REACH_MS = DAY_MS;

export function toLocal(zone: string, instantMs: number): number {
  return instantMs + offsetAt(zone, instantMs);
}

export function instantsShowing(zone: string, localMs: number): WallClockMatch {
  const instants: number[] = [];
  let afterGapMs: number | undefined;
  let segment = segmentAt(zone, localMs - REACH_MS);
  while (segment.fromMs <= localMs + REACH_MS) {
    const instantMs = localMs - segment.offsetMs;
    if (instantMs >= segment.fromMs && instantMs < segment.toMs) instants.push(instantMs);
    const gapFromMs = segment.fromMs + segment.previousOffsetMs;
    const gapToMs = segment.fromMs + segment.offsetMs;
    if (localMs >= gapFromMs && localMs < gapToMs) afterGapMs = segment.fromMs;
    segment = segmentAt(zone, segment.toMs);
  }
  return { instants, afterGapMs: instants.length === 0 ? afterGapMs : undefined };
}

/** The instants at which something planned for this local time happens, by the policy: none, one, or two. */
export function resolveWallClock(
  zone: string,
  localMs: number,
  policy: DaylightSavingPolicy,
): readonly number[] {
  const { instants, afterGapMs } = instantsShowing(zone, localMs);
  if (instants.length === 0) {
    return policy.gap === 'run_after' && afterGapMs !== undefined ? [afterGapMs] : [];
  }
  if (instants.length === 1 || policy.overlap === 'both') return instants;
  return policy.overlap === 'first' ? instants.slice(0, 1) : instants.slice(-1);
}
