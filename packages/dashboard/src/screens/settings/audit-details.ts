/** What an entry of the audit log is about, and what it tells, for people to read. Pure. */
import type { AuditEntry } from '@carillon/client';

/** As it is called now; of what is gone, where the entry tells. */
export function subjectName({ subject, before, after }: AuditEntry): string | undefined {
  if (subject.name !== null) return subject.name;
  return [after, before]
    .map((fields) => (fields as { readonly name?: unknown } | null)?.name)
    .find((name) => typeof name === 'string');
}

/** Payloads are recorded as JSON texts: shown as what they are, not as text in quotes. */
export function readableDetails(details: unknown): unknown {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return details;
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, parsed(value)]));
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
