/** Secrets in memory. */
import type { Secret } from '@carillon/domain';
import { NamespaceGone } from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { SecretStore, StoredSecret } from '../secret-store.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState } from './memory-state.ts';

type State = Pick<MemoryState, 'secrets' | 'namespaces' | 'audit'>;
type SecretId = Pick<Secret, 'namespace' | 'name'>;

export class MemorySecretStore implements SecretStore {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  async secrets(namespace: string): Promise<Secret[]> {
    return this.#of(namespace).map(({ value: _, ...secret }) => secret);
  }

  async findSecrets(namespace: string, names: readonly string[]): Promise<StoredSecret[]> {
    return this.#of(namespace).filter(({ name }) => names.includes(name));
  }

  async putSecret(
    secret: StoredSecret,
    { secretsMax, audit }: Parameters<SecretStore['putSecret']>[1],
  ): ReturnType<SecretStore['putSecret']> {
    const { secrets, namespaces } = this.#state;
    if (!namespaces.has(secret.namespace)) throw new NamespaceGone();
    const current = secrets.get(keyOf(secret));
    if ((current?.version ?? 0) !== secret.version - 1) return 'changed';
    if (!current && this.#of(secret.namespace).length >= secretsMax) return 'full';
    const { createdAtMs, createdBy } = current ?? secret;
    secrets.set(keyOf(secret), { ...secret, createdAtMs, createdBy });
    if (audit) addAudit(this.#state.audit, audit);
    return 'put';
  }

  async removeSecret(id: SecretId, audit?: AuditEntry): Promise<boolean> {
    if (!this.#state.secrets.delete(keyOf(id))) return false;
    if (audit) addAudit(this.#state.audit, audit);
    return true;
  }

  async secretsSealedOtherwise(
    beginning: string,
    { after, limit }: Parameters<SecretStore['secretsSealedOtherwise']>[1],
  ): Promise<StoredSecret[]> {
    const others = [...this.#state.secrets.values()].filter(({ value }) => !value.startsWith(beginning));
    const rest = after ? others.filter((secret) => compare(secret, after) > 0) : others;
    return rest.sort(compare).slice(0, limit);
  }

  async resealSecret(secret: StoredSecret, value: string): Promise<boolean> {
    const { secrets } = this.#state;
    const current = secrets.get(keyOf(secret));
    if (current?.value !== secret.value) return false;
    secrets.set(keyOf(secret), { ...current, value });
    return true;
  }

  #of(namespace: string): StoredSecret[] {
    return [...this.#state.secrets.values()].filter((secret) => secret.namespace === namespace).sort(compare);
  }
}

/** No name holds a space. */
function keyOf({ namespace, name }: SecretId): string {
  return `${namespace} ${name}`;
}

function compare(a: SecretId, b: SecretId): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name < b.name ? -1 : Number(a.name > b.name);
}
