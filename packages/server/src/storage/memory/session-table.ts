/** Sessions by their id, and the tickets that open one. */
import type { Session } from '@carillon/domain';
import type { SecretHash, SessionQuery, Use } from '../account-store.ts';

interface SessionRow {
  session: Session;
  readonly hash: SecretHash;
}

export class SessionTable {
  readonly #rows = new Map<string, SessionRow>();
  readonly #tickets = new Map<SecretHash, number>();

  addTicket({ hash, expiresAtMs }: { hash: SecretHash; expiresAtMs: number }, nowMs: number): void {
    for (const [old, endMs] of this.#tickets) if (endMs <= nowMs) this.#tickets.delete(old);
    this.#tickets.set(hash, expiresAtMs);
  }

  /** False: there is none, or it has expired. */
  useTicket(hash: SecretHash, nowMs: number): boolean {
    return (this.#tickets.get(hash) ?? 0) > nowMs && this.#tickets.delete(hash);
  }

  add(session: Session, hash: SecretHash): void {
    this.#rows.set(session.sessionId, { session, hash });
  }

  get(sessionId: string): Session | undefined {
    return this.#rows.get(sessionId)?.session;
  }

  withHash(hash: SecretHash): Session | undefined {
    return [...this.#rows.values()].find((row) => row.hash === hash)?.session;
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

  remove(isGone: (row: SessionRow) => boolean): number {
    const found = [...this.#rows.values()].filter(isGone);
    for (const { session } of found) this.#rows.delete(session.sessionId);
    return found.length;
  }
}
