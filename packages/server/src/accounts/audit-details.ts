/** How the audit log writes what it records of accounts: as answers do. */
import { type ApiKey, type Caller, EVERYWHERE, type Grant } from '@carillon/domain';
import { auditEntry, type Change } from '../audit/audit-log.ts';
import type { AuditEntry } from '../storage/audit-store.ts';

export function grantDetails(grants: readonly Grant[]): object[] {
  return grants.map(({ namespace, role, ownOnly }) => ({ namespace, role, own_only: ownOnly }));
}

export function instantDetail(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/**
 * In the log of each namespace that the key works in, with what it may there alone: administrators of one learn nothing of another.
 * What it may everywhere is recorded without a namespace.
 */
export function keyEntries(
  caller: Caller,
  { keyId, grants }: ApiKey,
  change: (grants: readonly Grant[]) => Omit<Change, 'namespace' | 'subject'>,
  nowMs: number,
): AuditEntry[] {
  return [...new Set(grants.map(({ namespace }) => namespace))].map((place) => {
    const subject = { kind: 'key', id: keyId };
    const namespace = place === EVERYWHERE ? undefined : place;
    const there = grants.filter((grant) => grant.namespace === place);
    return auditEntry(caller, { ...change(there), namespace, subject }, nowMs);
  });
}

export function revokedKeyEntries(caller: Caller, key: ApiKey, nowMs: number): AuditEntry[] {
  const change = (there: readonly Grant[]) => ({ action: 'keys.revoke', before: keyDetails(key, there) });
  return keyEntries(caller, key, change, nowMs);
}

/** Everything but its secret. */
export function keyDetails(
  { name, prefix, ownerId, scopes, offers, expiresAtMs }: ApiKey,
  grants: readonly Grant[],
): object {
  return {
    ...{ name, prefix, user_id: ownerId, grants: grantDetails(grants) },
    ...{ scopes: scopes && [...scopes], worker_handlers: offers, expires_at: instantDetail(expiresAtMs) },
  };
}
