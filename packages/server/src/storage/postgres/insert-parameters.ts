/** New jobs as the insert statements take them: the values they share, an array for what differs, the rows of the audit log. */
import { plainArray, sparse, textArray } from '../../postgres/array-literal.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { NewJob } from '../job-store.ts';
import { spanPosition } from './codes.ts';
import { type InsertColumn, OWN_COLUMNS, SHARED_COLUMNS } from './insert-columns.ts';
import type { Value } from './job-columns.ts';

/** As much as ids of entries leave room for. */
const AUDITED_TOGETHER_MAX = 1_000;

export interface InsertParameters {
  /** Whether the shared columns are single values. */
  readonly alike: boolean;
  readonly values: (Value | null)[];
}

export function insertParameters(given: readonly NewJob[]): InsertParameters {
  const entries = sideBySide(given);
  const own = OWN_COLUMNS.map((column) => arrayOf(column, entries));
  const shared = sharedValues(entries);
  return {
    alike: shared !== undefined,
    values: [
      ...own,
      ...(shared ?? SHARED_COLUMNS.map((column) => arrayOf(column, entries))),
      ...auditParameters(entries),
    ],
  };
}

/** Requests of many callers come mixed: the jobs of each stand side by side afterwards, and share a row of the audit log. */
function sideBySide(entries: readonly NewJob[]): readonly NewJob[] {
  const actorOf = ({ audit }: NewJob) => audit?.actor.id ?? '';
  const first = actorOf(entries[0]!);
  if (entries.every((entry) => actorOf(entry) === first)) return entries;
  return [...Map.groupBy(entries, actorOf).values()].flat();
}

function arrayOf({ of, form }: InsertColumn, entries: readonly NewJob[]): string | null {
  const values = entries.map(of);
  if (form === 'lines') return values.join('\n');
  return form === 'text' ? sparse(values as (string | undefined)[], textArray) : sparse(values, plainArray);
}

/** Undefined: they differ. */
function sharedValues(entries: readonly NewJob[]): (Value | null)[] | undefined {
  const [first, ...others] = entries;
  const values: (Value | null)[] = [];
  for (const { of } of SHARED_COLUMNS) {
    const value = of(first!);
    for (const other of others) if (of(other) !== value) return undefined;
    values.push(value ?? null);
  }
  return values;
}

interface AuditGroup {
  readonly entry: AuditEntry;
  readonly first: number;
  last: number;
  smallest: string;
  largest: string;
  sharesAfter: boolean;
  sharesRequest: boolean;
}

function auditParameters(entries: readonly NewJob[]): (string | null)[] {
  const groups = auditGroups(entries);
  const text = (pick: (entry: AuditEntry) => string | undefined) =>
    sparse(
      groups.map(({ entry }) => pick(entry)),
      textArray,
    );
  const afters = groups.some(({ sharesAfter }) => !sharesAfter)
    ? textArray(entries.map(({ audit }) => audit?.after))
    : null;
  const requestIds = groups.some(({ sharesRequest }) => !sharesRequest)
    ? textArray(entries.map(({ audit }) => audit?.origin.requestId))
    : null;
  return [
    plainArray(groups.map(({ entry }) => entry.atMs)),
    text(({ actor }) => actor.kind),
    text(({ actor }) => actor.id),
    text(({ actor }) => actor.name),
    text(({ actor }) => actor.via?.kind),
    text(({ actor }) => actor.via?.id),
    text(({ actor }) => actor.via?.name),
    text(({ action }) => action),
    text(({ namespace }) => namespace),
    text(({ origin }) => origin.address),
    text(({ origin }) => origin.userAgent),
    sparse(
      groups.map(({ entry, sharesRequest }) => (sharesRequest ? entry.origin.requestId : undefined)),
      textArray,
    ),
    plainArray(groups.map(({ first }) => first + 1)),
    plainArray(groups.map(({ last }) => last + 1)),
    plainArray(
      groups.map(({ smallest, first, last }) => (first < last ? spanPosition(smallest) : undefined)),
    ),
    plainArray(groups.map(({ largest, first, last }) => (first < last ? spanPosition(largest) : undefined))),
    sparse(
      groups.map(({ entry, sharesAfter }) => (sharesAfter ? entry.after : undefined)),
      textArray,
    ),
    afters,
    requestIds,
  ];
}

/** Jobs of one caller that stand side by side, whether one request made them or several that are written together. */
function auditGroups(entries: readonly NewJob[]): AuditGroup[] {
  const groups: AuditGroup[] = [];
  let open: AuditGroup | undefined;
  for (let i = 0; i < entries.length; i += 1) {
    const { audit, job } = entries[i]!;
    const id: string = job.jobId;
    if (!audit) {
      open = undefined;
    } else if (open && i - open.first < AUDITED_TOGETHER_MAX && isShared(open.entry, audit)) {
      open.last = i;
      if (id < open.smallest) open.smallest = id;
      if (id > open.largest) open.largest = id;
      open.sharesAfter &&= audit.after === open.entry.after;
      open.sharesRequest &&= audit.origin.requestId === open.entry.origin.requestId;
    } else {
      const range = { first: i, last: i, smallest: id, largest: id };
      open = { entry: audit, ...range, sharesAfter: true, sharesRequest: true };
      groups.push(open);
    }
  }
  return groups;
}

function isShared(a: AuditEntry, b: AuditEntry): boolean {
  return (
    a.atMs === b.atMs &&
    a.action === b.action &&
    a.namespace === b.namespace &&
    a.before === b.before &&
    (a.actor === b.actor ||
      (a.actor.kind === b.actor.kind &&
        a.actor.id === b.actor.id &&
        a.actor.name === b.actor.name &&
        a.actor.via?.id === b.actor.via?.id)) &&
    (a.origin === b.origin ||
      (a.origin.address === b.origin.address && a.origin.userAgent === b.origin.userAgent))
  );
}
