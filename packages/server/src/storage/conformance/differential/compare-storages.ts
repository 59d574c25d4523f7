/** Plays a sequence on two storages in lock step, and finds the shortest part of it on which they differ. */
import type { JobId, WorkerId } from '@carillon/domain';
import type { Call } from './call.ts';
import { type CallPlayer, written } from './call-player.ts';
import { type Digest, digestOf } from './digest.ts';

export interface Difference {
  /** Calls up to and with the one that shows it. */
  readonly calls: readonly Call[];
  /** What differs: the answer, or the part of the digest. */
  readonly where: string;
  readonly one: unknown;
  readonly other: unknown;
}

export interface Pair {
  readonly one: CallPlayer;
  readonly other: CallPlayer;
}

/** Of every next call, until there is none. */
export async function compareCalls(
  { one, other }: Pair,
  {
    next,
    workers,
    everyCalls,
    readEvents,
  }: {
    next: (done: number) => Promise<Call | undefined> | Call | undefined;
    workers: readonly WorkerId[];
    /** How often everything is looked at; answers are compared every time. */
    everyCalls: number;
    /** Waits until everything can be read. */
    readEvents: (player: CallPlayer) => Promise<Digest>;
  },
): Promise<Difference | undefined> {
  const calls: Call[] = [];
  const jobIds = new Set<JobId>();
  for (let call = await next(0); call; call = await next(calls.length)) {
    calls.push(call);
    if (call.do === 'insert') for (const { job } of call.jobs) jobIds.add(job.jobId);
    const answers = [await one.play(call), await other.play(call)];
    if (written(answers[0]) !== written(answers[1]))
      return { calls, where: 'answer', one: answers[0], other: answers[1] };
    if (calls.length % everyCalls !== 0) continue;
    const scan = { jobIds: [...jobIds], workers, nowMs: call.nowMs };
    const difference = differing(await digestOf(one, scan), await digestOf(other, scan));
    if (difference) return { calls, ...difference };
  }
  const difference = differing(await readEvents(one), await readEvents(other));
  return difference && { calls, ...difference, where: `events of ${difference.where}` };
}

function differing(one: Digest, other: Digest): Omit<Difference, 'calls'> | undefined {
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (written(one[key]) === written(other[key])) continue;
    const [a, b] = [one[key], other[key]];
    if (isRecord(a) && isRecord(b)) {
      const inner = differing(a, b);
      if (inner) return { ...inner, where: `${key} ${inner.where}` };
    }
    return { where: key, one: a, other: b };
  }
  return undefined;
}

function isRecord(value: unknown): value is Digest {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/**
 * Leaves out calls, many at a time and then one by one, as long as a difference stays; `differs` plays from the beginning. It
 * may become another difference on the way, which is as welcome.
 */
export async function shorten(
  found: Difference,
  differs: (calls: readonly Call[]) => Promise<Difference | undefined>,
): Promise<Difference> {
  let shortest = found;
  for (let size = Math.ceil(found.calls.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = shortest.calls.length - size; from > -size; from -= size) {
      const start = Math.max(0, from);
      const rest = [...shortest.calls.slice(0, start), ...shortest.calls.slice(from + size)];
      const still = rest.length < shortest.calls.length ? await differs(rest) : undefined;
      if (still) shortest = still;
    }
  }
  return shortest;
}
