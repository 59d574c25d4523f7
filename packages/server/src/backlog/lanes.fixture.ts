/** Lanes and what claims see of them, for tests. */
import type { LaneKey, LaneMark } from '../storage/lane.ts';
import type { LaneScan } from '../storage/lease-store.ts';

export const HTTP = 1;
/** The number of the first; those of others are multiples of it. */
export const NAMESPACE = 2 ** 26;
export const EVERY = (): boolean => true;
export const EMPTY: LaneScan = { found: 0, last: undefined, nextAtMs: undefined };

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const idOf = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

export function key(over: Partial<LaneKey> = {}): LaneKey {
  return { part: 0, priority: 'medium', handlerKey: HTTP, tenant: NAMESPACE, ...over };
}

export const mark = (laneAtMs: number, n = 1): LaneMark => ({ laneAtMs, runId: idOf(n) });
export const before = (laneAtMs: number): LaneMark => ({ laneAtMs: laneAtMs - 1, runId: LAST_ID });
export const found = (count: number, last: LaneMark): LaneScan => ({
  found: count,
  last,
  nextAtMs: undefined,
});
