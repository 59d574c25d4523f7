/**
 * Where the log of an attempt goes on: after what this server has kept of it, which an earlier process may have written. And how long it
 * may become: the logs of all attempts of a run are bounded together, or one that is given back again and again would fill the disk.
 */
import type { LogKey, LogStore } from '../log-store/log-store.ts';
import type { RunLogRecord } from '../storage/run-log-store.ts';
import { ATTEMPT_BYTES_MAX, LINE_BYTES_MAX, type LogPlace } from './attempt-log.ts';

/** Of one run, over all its attempts and servers. */
export const RUN_BYTES_MAX = 64 * 1_024 * 1_024;
/** However little an attempt wrote, it has a file and a record of its own. */
const ATTEMPT_BYTES_MIN = 4 * 1_024;
const NEWLINE = 10;
const STOPPED = 'Output may be missing here: the server stopped before all of it was kept.';

export interface FindPlaceOptions {
  readonly key: LogKey;
  /** What is recorded of the run, and of this log. */
  readonly known: readonly RunLogRecord[];
  readonly before: RunLogRecord | undefined;
  /** An earlier process may have begun the log without a record of it. */
  readonly isFromEarlier: boolean;
  readonly runBytesMax: number;
}

export async function findPlace(store: LogStore, options: FindPlaceOptions): Promise<LogPlace> {
  const { key, known, before, isFromEarlier, runBytesMax } = options;
  const segments = before || isFromEarlier ? await store.segments(key) : [];
  const last = segments.at(-1);
  const end = last ? last.start + last.bytes : 0;
  const isTorn = last !== undefined && !(await endsWithLine(store, key, { segment: last.start, end }));
  const isWhole = before ? before.ended && before.bytes === end : end === 0;
  const others = known.filter((record) => record !== before).reduce((sum, { bytes }) => sum + kept(bytes), 0);
  const left = runBytesMax - others;
  return {
    ...{ segments: segments.map(({ start }) => start), end, isTorn },
    lines: before?.lines ?? 0,
    firstAtMs: before?.firstAtMs ?? Number.POSITIVE_INFINITY,
    mark: isWhole ? undefined : STOPPED,
    lastAtMs: isWhole || !last ? undefined : await lastInstant(store, key, { segment: last.start, end }),
    bytesMax: left >= ATTEMPT_BYTES_MAX ? Number.POSITIVE_INFINITY : left,
  };
}

/** About what a log takes of which so much was written: the middle of a long one is dropped. */
function kept(bytes: number): number {
  return Math.min(Math.max(bytes, ATTEMPT_BYTES_MIN), ATTEMPT_BYTES_MAX);
}

async function endsWithLine(
  store: LogStore,
  key: LogKey,
  { segment, end }: { readonly segment: number; readonly end: number },
): Promise<boolean> {
  if (end === segment) return true;
  const [byte] = await store.read(key, { segment, from: end - 1, bytesMax: 1 });
  return byte === NEWLINE;
}

/** What stands before the text of a line. */
const HEAD = /^(\d+) [oes] /gm;
const HEAD_LENGTH_MAX = 32;

/** Of the last line whose beginning is kept. Undefined: there is none. */
async function lastInstant(
  store: LogStore,
  key: LogKey,
  { segment, end }: { readonly segment: number; readonly end: number },
): Promise<number | undefined> {
  const bytesMax = Math.min(end - segment, 2 * (LINE_BYTES_MAX + HEAD_LENGTH_MAX));
  const bytes = await store.read(key, { segment, from: end - bytesMax, bytesMax });
  const heads = [...Buffer.from(bytes).toString('latin1').matchAll(HEAD)];
  return heads.length === 0 ? undefined : Number(heads.at(-1)![1]);
}
