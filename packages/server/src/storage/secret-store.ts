/** Secrets that payloads name. How a value is kept from readers of the storage is not the storage's business. */
import type { Secret } from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';

export interface StoredSecret extends Secret {
  /** As it is stored: encrypted. */
  readonly value: string;
}

/** Entries of the audit log that are given with a change are written with it, or not at all. */
export interface SecretStore {
  /** By name. */
  secrets(namespace: string): Promise<Secret[]>;
  /** Those of these names that are there, by name. */
  findSecrets(namespace: string, names: readonly string[]): Promise<StoredSecret[]>;
  /**
   * Makes a secret (version 1), or gives one its next version; when it was made stays as it is. changed: it is not at the version
   * before. full: the namespace would have more than `secretsMax`. Throws NamespaceGone.
   */
  putSecret(
    secret: StoredSecret,
    options: { readonly secretsMax: number; readonly audit?: AuditEntry },
  ): Promise<'put' | 'changed' | 'full'>;
  removeSecret(id: Pick<Secret, 'namespace' | 'name'>, audit?: AuditEntry): Promise<boolean>;
  /** Values that do not begin like this, in order of namespace and name, after the given one. */
  secretsSealedOtherwise(
    beginning: string,
    page: { readonly after?: Pick<Secret, 'namespace' | 'name'> | undefined; readonly limit: number },
  ): Promise<StoredSecret[]>;
  /** The same version, encrypted anew. False: it has changed meanwhile. */
  resealSecret(secret: StoredSecret, value: string): Promise<boolean>;
}
