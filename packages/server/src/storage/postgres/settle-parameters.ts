/**
 * Settlements as the SETTLE statement takes them: one element per lease, each an array literal over the positions of that
 * lease. Positions past the last reported one may be left out: the database pads with NULL, which means "not reported".
 */
import type { LeaseId } from '@carillon/domain';
import { plainArray, sparse, textArray } from '../../postgres/array-literal.ts';
import type { Settlement } from '../lease-store.ts';

export function settleParameters(settlements: readonly Settlement[]): string[] {
  const byLease = new Map<LeaseId, (Settlement | undefined)[]>();
  for (const settlement of settlements) {
    let slots = byLease.get(settlement.leaseId);
    if (!slots) {
      slots = [];
      byLease.set(settlement.leaseId, slots);
    }
    while (slots.length <= settlement.position) slots.push(undefined);
    // Of two settlements of the same run, the first counts.
    slots[settlement.position] ??= settlement;
  }
  const leases = [...byLease.values()];
  const column = <T>(
    pick: (s: Settlement) => T | undefined,
    encode: (values: readonly (T | undefined)[]) => string,
  ) =>
    textArray(
      leases.map((slots) =>
        sparse(
          slots.map((s) => (s ? pick(s) : undefined)),
          encode,
        ),
      ),
    );
  return [
    plainArray([...byLease.keys()]),
    plainArray(leases.map((slots) => slots.reduce((count, s) => count + (s ? 1 : 0), 0))),
    column((s) => s.epoch, plainArray),
    column((s) => s.status, plainArray),
    column((s) => s.startedAtMs, plainArray),
    column((s) => s.endedAtMs, plainArray),
    column((s) => s.error, textArray),
    column((s) => s.result, textArray),
    column((s) => (s.next.kind === 'again' ? s.next.atMs : undefined), plainArray),
    column((s) => (s.next.kind === 'again' ? s.next.attempt : undefined), plainArray),
    column((s) => (s.next.kind === 'again' ? s.next.crashes : undefined), plainArray),
    column((s) => (s.next.kind === 'dead' ? s.next.reason : undefined), plainArray),
  ];
}
