/** What an entry of the audit log is about, and what it tells, for people to read. Pure. */
import type { AuditEntry, Json } from '@carillon/client';

/** As it is called now; of what is gone, where the entry tells. */
export function subjectName({ subject, before, after }: AuditEntry): string | undefined {
  if (subject.name !== null) return subject.name;
  return [after, before]
    .map((fields) => (fields as { readonly name?: unknown } | null)?.name)
    .find((name) => typeof name === 'string');
}

export interface AuditChange {
  readonly field: string;
  /** Before and after; undefined: it was not there. */
  readonly values: readonly [Json | undefined, Json | undefined];
}

/** The fields that differ, in the order that they were recorded in. Of what was made or removed: all. */
export function auditChanges({
  before,
  after,
}: Pick<AuditEntry, 'before' | 'after'>): readonly AuditChange[] {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...Object.keys(is), ...Object.keys(was)])]
    .map((field): AuditChange => ({ field, values: [parsed(was[field]), parsed(is[field])] }))
    .filter(({ values: [from, to] }) => JSON.stringify(from ?? null) !== JSON.stringify(to ?? null));
}

type Fields = Readonly<Record<string, Json | undefined>>;

/** Details that are no record have no names for what they hold. */
function fieldsOf(details: unknown): Fields {
  if (details === null || details === undefined) return {};
  return typeof details === 'object' && !Array.isArray(details)
    ? (details as Fields)
    : { details: details as Json };
}

/** Payloads are recorded as JSON texts: shown as what they are, not as text in quotes. */
function parsed(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}
