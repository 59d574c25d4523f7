/** How the audit log writes what it records of accounts: as answers do. */
import type { Grant } from '@carillon/domain';

export function grantDetails(grants: readonly Grant[]): object[] {
  return grants.map(({ namespace, role, ownOnly }) => ({ namespace, role, own_only: ownOnly }));
}

export function instantDetail(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
