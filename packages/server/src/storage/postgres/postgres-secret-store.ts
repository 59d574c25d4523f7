/** Secrets on PostgreSQL. */
import type { Secret } from '@carillon/domain';
import { type Database, RollBack } from '../../postgres/database.ts';
import { NamespaceGone } from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { SecretStore, StoredSecret } from '../secret-store.ts';
import { recordAudit } from './postgres-audit-store.ts';
import * as sql from './secret.sql.ts';
import { readAll } from './selection.ts';

export class PostgresSecretStore implements SecretStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  secrets(namespace: string): Promise<Secret[]> {
    return readAll(this.#database, sql.SECRETS, [namespace]);
  }

  findSecrets(namespace: string, names: readonly string[]): Promise<StoredSecret[]> {
    return readAll(this.#database, sql.FIND_SECRETS, [namespace, names]);
  }

  putSecret(
    secret: StoredSecret,
    { secretsMax, audit }: Parameters<SecretStore['putSecret']>[1],
  ): ReturnType<SecretStore['putSecret']> {
    const { namespace, name, version, value, masked, updatedAtMs, updatedBy } = secret;
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.LOCK_SECRETS, [namespace])).length === 0) throw new NamespaceGone();
      const [row] = await session.query<[number, number]>(sql.SECRET_VERSION, [namespace, name]);
      const [current, count] = row!;
      if (current !== version - 1) return 'changed';
      if (current === 0 && count >= secretsMax) return 'full';
      await session.query(sql.PUT_SECRET, [namespace, name, version, value, masked, updatedAtMs, updatedBy]);
      await recordAudit(session, [audit]);
      return 'put';
    });
  }

  removeSecret(
    { namespace, name }: Pick<Secret, 'namespace' | 'name'>,
    audit?: AuditEntry,
  ): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.REMOVE_SECRET, [namespace, name])).length === 0) throw new RollBack(false);
      await recordAudit(session, [audit]);
      return true;
    });
  }

  secretsSealedOtherwise(
    beginning: string,
    { after, limit }: Parameters<SecretStore['secretsSealedOtherwise']>[1],
  ): Promise<StoredSecret[]> {
    const { namespace = '', name = '' } = after ?? {};
    return readAll(this.#database, sql.SECRETS_SEALED_OTHERWISE, [beginning, namespace, name, limit]);
  }

  async resealSecret({ namespace, name, value: before }: StoredSecret, value: string): Promise<boolean> {
    const values = [namespace, name, before, value];
    return (await this.#database.query(sql.RESEAL_SECRET, values)).length > 0;
  }
}
