/** Keys that sign requests, in memory. */
import type { SigningKey } from '@carillon/domain';
import { NamespaceGone } from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { SigningKeyStore, StoredSigningKey } from '../signing-key-store.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemorySigningKeyStore implements SigningKeyStore {
  readonly #state: Pick<MemoryState, 'signingKeys' | 'namespaces' | 'audit'>;

  constructor(state: Pick<MemoryState, 'signingKeys' | 'namespaces' | 'audit'>) {
    this.#state = state;
  }

  async signingKeys(namespace: string): Promise<StoredSigningKey[]> {
    return this.#keysOf(namespace);
  }

  async signingKey(signingKeyId: string): Promise<SigningKey | undefined> {
    const stored = this.#state.signingKeys.get(signingKeyId);
    if (!stored) return undefined;
    const { secret: _, ...key } = stored;
    return key;
  }

  async addSigningKey(
    key: StoredSigningKey,
    { keysMax, othersEndAtMs, audit }: Parameters<SigningKeyStore['addSigningKey']>[1],
  ): Promise<boolean> {
    const { signingKeys, namespaces } = this.#state;
    if (!namespaces.has(key.namespace)) throw new NamespaceGone();
    const others = this.#keysOf(key.namespace).filter(
      ({ endsAtMs }) => endsAtMs === undefined || endsAtMs > key.createdAtMs,
    );
    if (others.length >= keysMax) return false;
    for (const [id, { namespace }] of signingKeys) if (namespace === key.namespace) signingKeys.delete(id);
    for (const other of others) {
      const { endsAtMs = Number.POSITIVE_INFINITY } = other;
      const ends = othersEndAtMs === undefined ? {} : { endsAtMs: Math.min(endsAtMs, othersEndAtMs) };
      signingKeys.set(other.signingKeyId, { ...other, ...ends });
    }
    signingKeys.set(key.signingKeyId, key);
    if (audit) addAudit(this.#state.audit, audit);
    return true;
  }

  async removeSigningKey(signingKeyId: string, audit?: AuditEntry): Promise<boolean> {
    if (!this.#state.signingKeys.delete(signingKeyId)) return false;
    if (audit) addAudit(this.#state.audit, audit);
    return true;
  }

  #keysOf(namespace: string): StoredSigningKey[] {
    return [...this.#state.signingKeys.values()]
      .filter((key) => key.namespace === namespace)
      .sort((a, b) => (a.signingKeyId < b.signingKeyId ? -1 : 1));
  }
}
