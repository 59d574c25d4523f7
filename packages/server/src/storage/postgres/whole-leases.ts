/** Finds the leases of which every run succeeded with nothing else to say: the cheap statement takes those. */
import type { LeaseId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Settlement } from '../lease-store.ts';

/** The settlements of one whole lease, by position. */
export type WholeLease = readonly Settlement[];

/** others: in the order they were given. */
export function wholeLeases(settlements: readonly Settlement[]): {
  whole: WholeLease[];
  others: Settlement[];
} {
  const byLease = new Map<LeaseId, Settlement[]>();
  for (const settlement of settlements) {
    const lease = byLease.get(settlement.leaseId);
    if (lease) lease.push(settlement);
    else byLease.set(settlement.leaseId, [settlement]);
  }
  const whole: WholeLease[] = [];
  const isTaken = new Set<LeaseId>();
  for (const [leaseId, lease] of byLease) {
    const sorted = lease.every(isPlain) ? isWhole(lease) : undefined;
    if (!sorted) continue;
    whole.push(sorted);
    isTaken.add(leaseId);
  }
  const isAll = isTaken.size === byLease.size;
  return { whole, others: isAll ? [] : settlements.filter(({ leaseId }) => !isTaken.has(leaseId)) };
}

export function wholeParameters(leases: readonly WholeLease[]): string[] {
  const column = (pick: (settlement: Settlement) => number | undefined) =>
    textArray(leases.map((lease) => plainArray(lease.map(pick))));
  return [
    plainArray(leases.map((lease) => lease[0]!.leaseId)),
    column((settlement) => settlement.epoch),
    column((settlement) => settlement.startedAtMs),
    column((settlement) => settlement.endedAtMs),
  ];
}

function isPlain({ status, error, result, next }: Settlement): boolean {
  return status === 'SUCCESS' && error === undefined && result === undefined && next.kind === 'finish';
}

/** In the order of positions, if each of them is there exactly once. */
function isWhole(lease: Settlement[]): WholeLease | undefined {
  if (lease.length !== lease[0]!.leaseSize) return undefined;
  const sorted = lease.every((settlement, i) => settlement.position === i)
    ? lease
    : lease.toSorted((a, b) => a.position - b.position);
  return sorted.every((settlement, i) => settlement.position === i) ? sorted : undefined;
}
