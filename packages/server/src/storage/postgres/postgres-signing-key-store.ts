/** Keys that sign requests, on PostgreSQL. */
import type { SigningKey } from '@carillon/domain';
import { type Database, RollBack, type Session } from '../../postgres/database.ts';
import { NamespaceGone } from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { SigningKeyStore, StoredSigningKey } from '../signing-key-store.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { readAll, readFirst } from './selection.ts';
import * as sql from './signing-key.sql.ts';

export class PostgresSigningKeyStore implements SigningKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  signingKeys(namespace: string): Promise<StoredSigningKey[]> {
    return readAll(this.#database, sql.SIGNING_KEYS, [namespace]);
  }

  signingKey(signingKeyId: string): Promise<SigningKey | undefined> {
    return readFirst(this.#database, sql.GET_SIGNING_KEY, [signingKeyId]);
  }

  addSigningKey(
    key: StoredSigningKey,
    { keysMax, othersEndAtMs, audit }: Parameters<SigningKeyStore['addSigningKey']>[1],
  ): Promise<boolean> {
    const { signingKeyId, namespace, secret, createdAtMs, startsAtMs, endsAtMs = null } = key;
    return this.#changed(audit, async (session) => {
      if ((await session.query(sql.LOCK_SIGNING, [namespace])).length === 0) throw new NamespaceGone();
      await session.query(sql.FORGET_ENDED_SIGNING_KEYS, [namespace, createdAtMs]);
      if (othersEndAtMs !== undefined) await session.query(sql.END_SIGNING_KEYS, [namespace, othersEndAtMs]);
      const values = [signingKeyId, namespace, secret, createdAtMs, startsAtMs, endsAtMs, keysMax];
      return (await session.query(sql.ADD_SIGNING_KEY, values)).length > 0;
    });
  }

  removeSigningKey(signingKeyId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#changed(
      audit,
      async (session) => (await session.query(sql.REMOVE_SIGNING_KEY, [signingKeyId])).length > 0,
    );
  }

  #changed(audit: AuditEntry | undefined, change: (session: Session) => Promise<boolean>): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      if (!(await change(session))) throw new RollBack(false);
      await recordAudit(session, [audit]);
      return true;
    });
  }
}
