/**
 * The offsets of a time zone as segments: stretches of time during which the clock of the zone differs from UTC by a
 * constant. Local time only jumps between two segments, so whoever works segment by segment never meets a gap or an
 * overlap by surprise. Found through Intl (the tz data of the runtime) and remembered.
 */
import { BoundedCache } from './bounded-cache.ts';
import { DAY_MS, SECOND_MS } from './civil-date.ts';
import { canonicalZone } from './parse-zone.ts';

export interface ZoneSegment {
  /** First instant of the segment, and the first one after it. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Local time minus UTC, here and in the neighbours (equal to this one where only our search was cut). */
  readonly offsetMs: number;
  readonly previousOffsetMs: number;
  readonly nextOffsetMs: number;
}

/** The closest two offset changes in the tz data since 1970 lie 6.96 days apart (Gaza 2040): this cannot miss one. */
const SAMPLE_STEP_MS = 3 * DAY_MS;
const SAMPLES_PER_BUCKET = 128;
const BUCKET_MS = SAMPLE_STEP_MS * SAMPLES_PER_BUCKET;
/** There are about 420 zones; the slack is for other names of them in schedules that were stored under those. */
const ZONES_MAX = 1_024;

type OffsetReader = (instantMs: number) => number;

interface ZoneOffsets {
  readonly read: OffsetReader;
  /** By number of the bucket: at most about 125 of them between 1970 and 2100. */
  readonly buckets: Map<number, readonly ZoneSegment[]>;
}

const zones = new BoundedCache<string, ZoneOffsets>(ZONES_MAX);

/** The segment that holds the instant. Throws a RangeError when the runtime does not know the zone (see parseZone). */
export function segmentAt(zone: string, instantMs: number): ZoneSegment {
  const offsets = offsetsOf(zone);
  const bucket = Math.floor(instantMs / BUCKET_MS);
  let segments = offsets.buckets.get(bucket);
  if (segments === undefined) {
    segments = findSegments(offsets.read, bucket * BUCKET_MS);
    offsets.buckets.set(bucket, segments);
  }
  for (const segment of segments) {
    if (instantMs < segment.toMs) return segment;
  }
  throw new Error(`No segment of ${zone} holds ${instantMs}: segments must cover their bucket`);
}

/** All names of a zone share what is known of it. */
function offsetsOf(zone: string): ZoneOffsets {
  return zones.getOrCompute(zone, () => {
    const canonical = canonicalZone(zone);
    return canonical === zone ? { read: offsetReader(zone), buckets: new Map() } : offsetsOf(canonical);
  });
}

export function offsetAt(zone: string, instantMs: number): number {
  return segmentAt(zone, instantMs).offsetMs;
}

/** About 130 questions to Intl at 1.2 us each, once per zone and year. */
function findSegments(read: OffsetReader, bucketFromMs: number): ZoneSegment[] {
  const bucketToMs = bucketFromMs + BUCKET_MS;
  const segments: ZoneSegment[] = [];
  let fromMs = bucketFromMs;
  let offsetMs = read(fromMs);
  let previousOffsetMs = read(fromMs - SECOND_MS);
  let sampleMs = fromMs;
  while (sampleMs < bucketToMs) {
    const nextSampleMs = Math.min(bucketToMs, sampleMs + SAMPLE_STEP_MS);
    const nextOffsetMs = read(nextSampleMs);
    if (nextOffsetMs === offsetMs) {
      sampleMs = nextSampleMs;
      continue;
    }
    const changeMs = firstOtherOffset(read, sampleMs, nextSampleMs);
    if (changeMs === bucketToMs) break;
    const changedOffsetMs = read(changeMs);
    segments.push({ fromMs, toMs: changeMs, offsetMs, previousOffsetMs, nextOffsetMs: changedOffsetMs });
    fromMs = changeMs;
    sampleMs = changeMs;
    previousOffsetMs = offsetMs;
    offsetMs = changedOffsetMs;
  }
  segments.push({ fromMs, toMs: bucketToMs, offsetMs, previousOffsetMs, nextOffsetMs: read(bucketToMs) });
  return segments;
}

/** Halves the range until it is one second wide: every change of the tz data lies on a whole second. */
function firstOtherOffset(read: OffsetReader, sameMs: number, otherMs: number): number {
  const offsetMs = read(sameMs);
  let low = sameMs / SECOND_MS;
  let high = otherMs / SECOND_MS;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (read(middle * SECOND_MS) === offsetMs) low = middle;
    else high = middle;
  }
  return high * SECOND_MS;
}

function offsetReader(zone: string): OffsetReader {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return (instantMs) => {
    const [month, day, year, hour, minute, second] = format.format(instantMs).split(/\D+/);
    const localMs = Date.UTC(
      Number(year),
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    );
    return localMs - instantMs;
  };
}
