/**
 * The offsets of a time zone as segments: stretches of time during which the clock of the zone differs from UTC by a
 * constant. Local time only jumps between two segments, so whoever works segment by segment never meets a gap or an
 * overlap by surprise. Found through Intl (the tz data of the runtime) and remembered.
 */
import { Cache } from '../cache.ts';
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
/**
 * Segments are searched for and remembered by the bucket. A rare schedule asks for a few days in many years, so buckets are
 * small: 24 days cost 10 questions to Intl at 1 us each, and 20 more for each change of offset among them.
 */
const SAMPLES_PER_BUCKET = 8;
const BUCKET_MS = SAMPLE_STEP_MS * SAMPLES_PER_BUCKET;
/** Per zone, about 200 bytes each. Enough for two per year from now to 2100, which is what the rarest schedules ask for. */
const BUCKETS_MAX = 256;
/** There are about 420 zones; the slack is for other names of them in schedules that were stored under those. */
const ZONES_MAX = 1_024;

/** No clock of the tz data ever jumped further. */
const JUMP_MS_MAX = DAY_MS;

type OffsetReader = (instantMs: number) => number;

interface ZoneOffsets {
  readonly read: OffsetReader;
  /** By number of the bucket. */
  readonly buckets: Cache<number, readonly ZoneSegment[]>;
}

const zones = new Cache<string, ZoneOffsets>({ entriesMax: ZONES_MAX });

/** The segment that holds the instant. Throws a RangeError when the runtime does not know the zone (see parseZone). */
export function segmentAt(zone: string, instantMs: number): ZoneSegment {
  const offsets = offsetsOf(zone);
  const segmentsOf = (bucket: number) =>
    offsets.buckets.getOrCompute(bucket, () => findSegments(offsets.read, bucket * BUCKET_MS));
  const bucket = Math.floor(instantMs / BUCKET_MS);
  let segments = segmentsOf(bucket);
  // Beside a change near its edge, the neighbour has it.
  if (instantMs < segments[0]!.fromMs) segments = segmentsOf(bucket - 1);
  else if (instantMs >= segments.at(-1)!.toMs) segments = segmentsOf(bucket + 1);
  for (const segment of segments) {
    if (instantMs < segment.toMs) return segment;
  }
  throw new Error(`No segment of ${zone} holds ${instantMs}: segments must cover their bucket`);
}

/** All names of a zone share what is known of it. */
function offsetsOf(zone: string): ZoneOffsets {
  return zones.getOrCompute(zone, () => {
    const canonical = canonicalZone(zone);
    if (canonical !== zone) return offsetsOf(canonical);
    return { read: offsetReader(zone), buckets: new Cache({ entriesMax: BUCKETS_MAX }) };
  });
}

export function offsetAt(zone: string, instantMs: number): number {
  return segmentAt(zone, instantMs).offsetMs;
}

/**
 * Local times just before a change are shown again after it, so no segment is cut where a change is that near: there, the bucket
 * begins or ends at the change, and its neighbour as well.
 */
function findSegments(read: OffsetReader, bucketFromMs: number): ZoneSegment[] {
  const bucketToMs = bucketFromMs + BUCKET_MS;
  const [startMs, endMs] = [bucketFromMs - JUMP_MS_MAX, bucketToMs + JUMP_MS_MAX];
  const segments: ZoneSegment[] = [];
  let fromMs = startMs;
  let offsetMs = read(startMs);
  let previousOffsetMs = offsetMs;
  let sampleMs = startMs;
  while (sampleMs < endMs) {
    const nextSampleMs = Math.min(endMs, sampleMs + SAMPLE_STEP_MS);
    if (read(nextSampleMs) === offsetMs) {
      sampleMs = nextSampleMs;
      continue;
    }
    const changeMs = firstOtherOffset(read, sampleMs, nextSampleMs);
    if (changeMs === endMs) break;
    const changedOffsetMs = read(changeMs);
    segments.push({ fromMs, toMs: changeMs, offsetMs, previousOffsetMs, nextOffsetMs: changedOffsetMs });
    fromMs = changeMs;
    sampleMs = changeMs;
    previousOffsetMs = offsetMs;
    offsetMs = changedOffsetMs;
  }
  segments.push({ fromMs, toMs: endMs, offsetMs, previousOffsetMs, nextOffsetMs: offsetMs });
  const changes = segments.slice(1).map((segment) => segment.fromMs);
  const lowMs = changes.find((changeMs) => changeMs < bucketFromMs + JUMP_MS_MAX) ?? bucketFromMs;
  const highMs = changes.find((changeMs) => changeMs > bucketToMs - JUMP_MS_MAX) ?? bucketToMs;
  return segments
    .filter((segment) => segment.toMs > lowMs && segment.fromMs < highMs)
    .map((segment) => ({
      ...segment,
      fromMs: Math.max(segment.fromMs, lowMs),
      toMs: Math.min(segment.toMs, highMs),
    }));
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
