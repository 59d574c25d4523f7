/** Sessions by their id, the tickets that open one, and the admin keys that both may be bound to. */
import type { Session } from '@carillon/domain';
import type { NewTicket, SecretHash, SessionQuery, Use } from '../account-store.ts';

interface SessionRow {
  session: Session;
  readonly hash: SecretHash;
  /** Of a session of nobody. */
  readonly adminKey: SecretHash | undefined;
}

export class SessionTable {
  readonly #rows = new Map<string, SessionRow>();
  readonly #tickets = new Map<SecretHash, NewTicket>();
  /** By who uses them. */
  readonly #adminKeys = new Map<string, { readonly digest: SecretHash; readonly seenAtMs: number }>();

  useAdminKey(
    { holder, digest }: { holder: string; digest: SecretHash },
    { nowMs, unusedSinceMs }: { nowMs: number; unusedSinceMs: number },
  ): void {
    this.#adminKeys.set(holder, { digest, seenAtMs: nowMs });
    for (const [other, { seenAtMs }] of this.#adminKeys)
      if (seenAtMs < unusedSinceMs) this.#adminKeys.delete(other);
    for (const [hash, { adminKey }] of this.#tickets) if (!this.isInUse(adminKey)) this.#tickets.delete(hash);
    this.remove(({ session, adminKey }) => session.userId === undefined && !this.isInUse(adminKey));
  }

  isInUse(adminKey: SecretHash | undefined): boolean {
    return [...this.#adminKeys.values()].some(({ digest }) => digest === adminKey);
  }

  addTicket(ticket: NewTicket, nowMs: number): void {
    for (const [old, { expiresAtMs }] of this.#tickets) if (expiresAtMs <= nowMs) this.#tickets.delete(old);
    this.#tickets.set(ticket.hash, ticket);
  }

  /** Its admin key. Undefined: there is none, or it has expired. */
  useTicket(hash: SecretHash, nowMs: number): SecretHash | undefined {
    const ticket = this.#tickets.get(hash);
    if (!ticket || ticket.expiresAtMs <= nowMs) return undefined;
    this.#tickets.delete(hash);
    return ticket.adminKey;
  }

  add(session: Session, hash: SecretHash, adminKey?: SecretHash): void {
    this.#rows.set(session.sessionId, { session, hash, adminKey });
  }

  get(sessionId: string): Session | undefined {
    return this.#rows.get(sessionId)?.session;
  }

  withHash(hash: SecretHash): Session | undefined {
    const row = [...this.#rows.values()].find((one) => one.hash === hash);
    return row && (row.session.userId !== undefined || this.isInUse(row.adminKey)) ? row.session : undefined;
  }

  list(query: SessionQuery): Session[] {
    const { userId, expiresAfterMs = 0, seenAfterMs = 0, afterSessionId, limit } = query;
    return [...this.#rows.values()]
      .map(({ session }) => session)
      .filter((session) => userId === undefined || session.userId === userId)
      .filter(({ expiresAtMs, lastSeenAtMs }) => expiresAtMs > expiresAfterMs && lastSeenAtMs > seenAfterMs)
      .filter(({ sessionId }) => afterSessionId === undefined || sessionId < afterSessionId)
      .sort((a, b) => (a.sessionId < b.sessionId ? 1 : -1))
      .slice(0, limit);
  }

  /** Of those that have not expired. */
  hashes(nowMs: number): SecretHash[] {
    return [...this.#rows.values()]
      .filter(({ session }) => session.expiresAtMs > nowMs)
      .map(({ hash }) => hash);
  }

  note({ id, atMs }: Use): void {
    const row = this.#rows.get(id);
    if (row) row.session = { ...row.session, lastSeenAtMs: Math.max(row.session.lastSeenAtMs, atMs) };
  }

  delete(sessionId: string): boolean {
    return this.#rows.delete(sessionId);
  }

  endOf(userId: string, exceptHash?: SecretHash): void {
    this.remove(({ session, hash }) => session.userId === userId && hash !== exceptHash);
  }

  remove(isGone: (row: SessionRow) => boolean): number {
    const found = [...this.#rows.values()].filter(isGone);
    for (const { session } of found) this.#rows.delete(session.sessionId);
    return found.length;
  }
}
