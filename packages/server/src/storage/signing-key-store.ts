/** Keys that sign the requests of http jobs. How a secret is kept from readers of the storage is not the storage's business. */
import type { SigningKey } from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';

export interface StoredSigningKey extends SigningKey {
  /** As it is stored, perhaps encrypted. */
  readonly secret: string;
}

/** Entries of the audit log that are given with a change are written with it, or not at all. */
export interface SigningKeyStore {
  /** Oldest first. */
  signingKeys(namespace: string): Promise<StoredSigningKey[]>;
  signingKey(signingKeyId: string): Promise<SigningKey | undefined>;
  /**
   * Adds a key to its namespace and forgets those that have ended. The others end at `othersEndAtMs` at the latest; undefined: they go
   * on. False: the namespace would have more than `keysMax`. Throws NamespaceGone.
   */
  addSigningKey(
    key: StoredSigningKey,
    options: {
      readonly keysMax: number;
      readonly othersEndAtMs: number | undefined;
      readonly audit?: AuditEntry;
    },
  ): Promise<boolean>;
  removeSigningKey(signingKeyId: string, audit?: AuditEntry): Promise<boolean>;
}
