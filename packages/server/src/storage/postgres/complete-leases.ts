/**
 * Complete leases: every run of the lease is reported in the same call. They are settled by cheaper statements than SETTLE:
 * SETTLE_ALL_SUCCEEDED where all runs succeeded, else SETTLE_MIXED, which gets successes as lines and the rest one by one.
 */
import type { LeaseId } from '@carillon/domain';
import { plainArray, sparse, textArray } from '../../postgres/array-literal.ts';
import type { Settlement } from '../lease-store.ts';
import { LEASE_SEPARATOR } from './settle.sql.ts';

/** The settlements of one lease, by position. */
export type CompleteLease = readonly Settlement[];

/** others: in the order they were given. */
export function completeLeases(settlements: readonly Settlement[]): {
  complete: CompleteLease[];
  others: Settlement[];
} {
  const byLease = new Map<LeaseId, Settlement[]>();
  for (const settlement of settlements) {
    const lease = byLease.get(settlement.leaseId);
    if (lease) lease.push(settlement);
    else byLease.set(settlement.leaseId, [settlement]);
  }
  const complete: CompleteLease[] = [];
  const completeIds = new Set<LeaseId>();
  for (const [leaseId, lease] of byLease) {
    const sorted = inOrder(lease);
    if (!sorted) continue;
    complete.push(sorted);
    completeIds.add(leaseId);
  }
  const areAll = completeIds.size === byLease.size;
  return { complete, others: areAll ? [] : settlements.filter(({ leaseId }) => !completeIds.has(leaseId)) };
}

/** Every run of them succeeded, without a result. */
export function allSucceeded(leases: readonly CompleteLease[]): boolean {
  return leases.every((lease) => lease.every((one) => one.result === undefined && hasSucceeded(one)));
}

/** Settlements other than successes that may end their job. */
export function endingOf(leases: readonly CompleteLease[]): Settlement[] {
  return leases.flatMap((lease) =>
    lease.filter(({ status, next }) => status !== 'SUCCESS' && next.kind !== 'again'),
  );
}

export function succeededParameters(leases: readonly CompleteLease[]): string[] {
  const column = (pick: (settlement: Settlement) => number | undefined) =>
    textArray(leases.map((lease) => plainArray(lease.map(pick))));
  return [
    plainArray(leases.map((lease) => lease[0]!.leaseId)),
    column((settlement) => settlement.epoch),
    column((settlement) => settlement.startedAtMs),
    column((settlement) => settlement.endedAtMs),
  ];
}

export function mixedParameters(leases: readonly CompleteLease[], nowMs: number): (string | number | null)[] {
  const rest: Settlement[] = [];
  const split = leases.map((lease) => splitLease(lease, rest));
  const hasResults = split.some(({ lines }) => lines.some((line) => line !== ''));
  const plain = (pick: (settlement: Settlement) => string | number | undefined) =>
    sparse(rest.map(pick), plainArray);
  const text = (pick: (settlement: Settlement) => string | undefined) => sparse(rest.map(pick), textArray);
  return [
    plainArray(leases.map((lease) => lease[0]!.leaseId)),
    textArray(leases.map((lease) => plainArray(lease.map(({ epoch }) => epoch)))),
    textArray(split.map(({ starts }) => plainArray(starts))),
    textArray(split.map(({ ends }) => plainArray(ends))),
    hasResults ? split.map(({ lines }) => lines.join('\n')).join(LEASE_SEPARATOR) : null,
    plain(({ leaseId }) => leaseId),
    plain(({ position }) => position),
    plain(({ status }) => status),
    plain(({ startedAtMs }) => startedAtMs),
    plain(({ endedAtMs }) => endedAtMs),
    text(({ error }) => error),
    text(({ result }) => result),
    plain(nextAtMs),
    plain(({ next }) => (next.kind === 'again' ? next.attempt : undefined)),
    plain(({ next }) => (next.kind === 'again' ? next.crashes : undefined)),
    plain(deadReason),
    nowMs,
    perLease(leases, nextAtMs),
    perLease(leases, deadReason),
  ];
}

/** By position: start, end and result of each success. All other settlements are added to `rest`. */
function splitLease(lease: CompleteLease, rest: Settlement[]) {
  const starts: (number | undefined)[] = [];
  const ends: (number | undefined)[] = [];
  const lines: string[] = [];
  for (const settlement of lease) {
    const succeeded = hasSucceeded(settlement);
    starts.push(succeeded ? settlement.startedAtMs : undefined);
    ends.push(succeeded ? settlement.endedAtMs : undefined);
    lines.push((succeeded && settlement.result) || '');
    if (!succeeded) rest.push(settlement);
  }
  return { starts, ends, lines };
}

const nextAtMs = ({ next }: Settlement) => (next.kind === 'again' ? next.atMs : undefined);
const deadReason = ({ next }: Settlement) => (next.kind === 'dead' ? next.reason : undefined);

function perLease(
  leases: readonly CompleteLease[],
  pick: (settlement: Settlement) => string | number | undefined,
): string | null {
  return sparse(
    leases.map((lease) => sparse(lease.map(pick), plainArray) ?? undefined),
    textArray,
  );
}

/** A result travels as one line: JSON that is empty or holds a separator is settled among the rest. */
function hasSucceeded({ status, error, result, next }: Settlement): boolean {
  if (status !== 'SUCCESS' || error !== undefined || next.kind !== 'finish') return false;
  return (
    result === undefined || (result !== '' && !result.includes('\n') && !result.includes(LEASE_SEPARATOR))
  );
}

/** In the order of positions, if each of them is there exactly once. */
function inOrder(lease: Settlement[]): CompleteLease | undefined {
  if (lease.length !== lease[0]!.leaseSize) return undefined;
  const sorted = lease.every((settlement, i) => settlement.position === i)
    ? lease
    : lease.toSorted((a, b) => a.position - b.position);
  return sorted.every((settlement, i) => settlement.position === i) ? sorted : undefined;
}
