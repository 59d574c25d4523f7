/**
 * The admin key of this server, as far as sessions and tickets are concerned: they are bound to a digest of it. The storage knows which
 * keys the servers use. A server that starts with another one ends at once, on every server, what was opened with the one before.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '@carillon/foundation';
import type { AccountStore, SecretHash } from '../storage/account-store.ts';

/** A server that has not said for so long which key it uses is gone, with its key: a restart takes less. */
const UNUSED_MS = 15 * 60_000;

export interface AdminKey {
  /** The data folder that keeps it, whichever process runs there: the node id. */
  readonly holder: string;
  readonly digest: SecretHash;
}

/** Differs from the digest that requests are compared with: what the storage has is of no use there. */
export function adminKeyDigest(key: string): SecretHash {
  return createHmac('sha256', key).update('carillon admin key in use').digest('hex');
}

/** Says that the key is in use; what is bound to one that no server uses ends with it. */
export async function useAdminKey(
  key: AdminKey,
  { store, clock }: { store: Pick<AccountStore, 'useAdminKey'>; clock: Pick<Clock, 'now'> },
): Promise<void> {
  const nowMs = clock.now();
  await store.useAdminKey(key, { nowMs, unusedSinceMs: nowMs - UNUSED_MS });
}
