/**
 * The daily partitions of one table. Readers and writers of the table never wait for what is done here, nor it for them:
 * partitions are made beside the table and attached, old ones are detached concurrently and dropped when nobody sees them any
 * more. Every lock is waited for only briefly; what could not be done is left as it is and found again by the next call.
 *
 * A default partition rules all of that out: attaching locks it against everybody, and nothing can be detached concurrently
 * from its parent. Migrations have made one; the first call that can gives it up, and what lay in it moves to partitions of
 * its own days. Without it every instant that is written needs a partition: now and the days ahead, and the day of every claim
 * that has not ended.
 */
import type { Database, Session } from '../../postgres/database.ts';
import { StorageTimeout } from '../storage.ts';
import {
  attach,
  CLAIM_DAYS,
  COUNT_STRAYS,
  createAlone,
  DROP_STRAYS,
  detachConcurrently,
  detachDefault,
  dropTable,
  FIND_TABLE,
  finishDetaching,
  LIMIT_LOCK_WAITS,
  LIMIT_LOCK_WAITS_OF_SESSION,
  LIST_DETACHED,
  LIST_PARTITIONS,
  LOCK_DROPPING,
  LOCK_MAKING,
  markToDrop,
  type Partitioned,
  PRESENT_DAY,
  STRAY_DAYS,
  STRAYS_BETWEEN,
  takeStraysBack,
  unmark,
} from './partition.sql.ts';

const DAY_MS = 24 * 3_600_000;
const LOCK_NOT_AVAILABLE = '55P03';

/** Nobody but other maintenance queues behind these. Making waits for longer than dropping does: it is the one with a deadline. */
const MAKE_WAIT = '2s';
const DROP_WAIT = '1s';
/** Readers and writers queue behind these while they are waited for. */
const EXCLUSIVE_WAIT = '50ms';
/** Moved while the table is locked against everybody: about a tenth of a second. */
const STRAYS_MOVED_MAX = 10_000;

interface Partition {
  readonly name: string;
  readonly isDefault: boolean;
  readonly isHalfDetached: boolean;
}

export class Partitions {
  readonly #database: Database;
  readonly #table: Partitioned;

  constructor(database: Database, table: Partitioned) {
    this.#database = database;
    this.#table = table;
  }

  /** Makes what is missing of the days from yesterday (a claim made just before midnight is recorded after it) to `aheadDays`. */
  async make({ nowMs, aheadDays }: { nowMs: number; aheadDays: number }): Promise<void> {
    const today = Math.floor(nowMs / DAY_MS);
    const ahead = Array.from({ length: aheadDays + 1 }, (_, i) => today + i);
    // The most urgent first: a lock that is not available ends the attempt.
    const days = [...new Set([...ahead, today - 1, ...(await this.#claimDays())])];
    if ((await this.#list()).some(({ isDefault }) => isDefault)) await this.#giveUpDefault(days);
    const names = new Set((await this.#list()).map(({ name }) => name));
    for (const day of days) {
      if (names.has(this.#name(day))) continue;
      await this.#database.transaction(async (session) => {
        await session.query(LIMIT_LOCK_WAITS, [MAKE_WAIT]);
        await session.query(LOCK_MAKING, []);
        if (!(await this.#hasDefault(session))) return this.#makeOne(session, day);
        await session.query(LIMIT_LOCK_WAITS, [EXCLUSIVE_WAIT]);
        if (!(await this.#hasStrays(session, day))) await this.#makeOne(session, day);
      });
    }
  }

  /** The partition of an instant, whether it is there or not. */
  nameAt(atMs: number): string {
    return this.#name(Math.floor(atMs / DAY_MS));
  }

  async has(atMs: number): Promise<boolean> {
    const name = this.nameAt(atMs);
    return (await this.#list()).some((it) => it.isDefault || (it.name === name && !it.isHalfDetached));
  }

  /** Drops the days that ended by the instant, but for those under which a run is still to be recorded; answers which. */
  async drop(beforeMs: number): Promise<string[]> {
    const there = await this.#list();
    if (there.some(({ isDefault }) => isDefault)) return this.#dropBesideDefault(there, beforeMs);
    const old = await this.#old(beforeMs);
    const isWork = there.some(({ name, isHalfDetached }) => isHalfDetached || old(name));
    if (!isWork && !(await this.#detached()).some(old)) return [];
    return this.#database.session(async (session) => {
      await session.query(LIMIT_LOCK_WAITS_OF_SESSION, [DROP_WAIT]);
      const [locked] = await session.query<readonly [boolean]>(LOCK_DROPPING, []);
      if (!locked![0]) return [];
      await unlessLocked(() => this.#detachOld(session, old));
      const dropped: string[] = [];
      for (const name of (await this.#detached(session)).filter(old)) {
        if (await unlessLocked(() => session.query(dropTable(name), []))) dropped.push(name);
      }
      return dropped;
    });
  }

  /** PostgreSQL lets only one partition of a table be half detached: it comes first, whoever left it. */
  async #detachOld(session: Session, old: (name: string) => boolean): Promise<void> {
    const there = await this.#list(session);
    for (const { name } of there.filter(({ isHalfDetached }) => isHalfDetached)) {
      await session.query(finishDetaching(this.#table, name), []);
    }
    for (const { name } of there.filter((it) => !it.isHalfDetached && old(it.name))) {
      await session.query(markToDrop(name), []);
      await session.query(detachConcurrently(this.#table, name), []);
    }
  }

  /** The table may be there already: detached, and never dropped. Then it is taken back with what it holds. */
  async #makeOne(session: Session, day: number): Promise<void> {
    const name = this.#name(day);
    const [found] = await session.query<readonly [boolean]>(FIND_TABLE, [this.#table, name]);
    if (found?.[0]) return;
    await session.query(found ? unmark(name) : createAlone(this.#table, name), []);
    // What was just created is empty, and what was detached has kept a check of its bounds: neither is scanned.
    await session.query(attach(this.#table, name, { fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS }), []);
  }

  /**
   * It stays for now where somebody uses the table, where more lies in it than can be moved in a moment, and where the days are
   * not those of the database's clock: what is written now would have nowhere to go.
   */
  async #giveUpDefault(days: readonly number[]): Promise<void> {
    const [present] = await this.#database.query<readonly [number]>(PRESENT_DAY, []);
    if (!days.includes(present![0])) return;
    await this.#besideDefault(async (session) => {
      const [strays] = await session.query<readonly [number]>(COUNT_STRAYS[this.#table], [
        STRAYS_MOVED_MAX + 1,
      ]);
      if (strays![0] > STRAYS_MOVED_MAX) return;
      await session.query(LIMIT_LOCK_WAITS, [EXCLUSIVE_WAIT]);
      await session.query(detachDefault(this.#table), []);
      const strayDays = await session.query<readonly [number]>(STRAY_DAYS[this.#table], []);
      for (const day of new Set([...days, ...strayDays.map(([it]) => it)])) await this.#makeOne(session, day);
      await session.query(takeStraysBack(this.#table), []);
      await session.query(dropTable(`${this.#table}_default`), []);
    });
  }

  /** What is done to the default partition, while no other server can give it up; nothing if one has. */
  async #besideDefault(work: (session: Session) => Promise<void>): Promise<void> {
    await unlessLocked(() =>
      this.#database.transaction(async (session) => {
        await session.query(LIMIT_LOCK_WAITS, [MAKE_WAIT]);
        await session.query(LOCK_MAKING, []);
        if (await this.#hasDefault(session)) await work(session);
      }),
    );
  }

  async #hasDefault(session: Session): Promise<boolean> {
    const [found] = await session.query(FIND_TABLE, [this.#table, `${this.#table}_default`]);
    return found !== undefined;
  }

  /** A day of which rows went to the default partition stays there: attaching one of its own would fail. */
  async #hasStrays(session: Session, day: number): Promise<boolean> {
    const rows = await session.query(STRAYS_BETWEEN[this.#table], [day * DAY_MS, (day + 1) * DAY_MS]);
    return rows.length > 0;
  }

  async #dropBesideDefault(there: readonly Partition[], beforeMs: number): Promise<string[]> {
    await this.#besideDefault(async (session) => {
      await session.query(DROP_STRAYS[this.#table], [beforeMs]);
    });
    const old = await this.#old(beforeMs);
    const dropped: string[] = [];
    for (const { name } of there.filter((it) => old(it.name))) {
      const isDropped = await unlessLocked(() =>
        this.#database.transaction(async (session) => {
          await session.query(LIMIT_LOCK_WAITS, [EXCLUSIVE_WAIT]);
          await session.query(dropTable(name), []);
        }),
      );
      if (!isDropped) break;
      dropped.push(name);
    }
    return dropped;
  }

  async #old(beforeMs: number): Promise<(name: string) => boolean> {
    const kept = new Set((await this.#claimDays()).map((day) => this.#name(day)));
    return (name) => partitionEndMs(this.#table, name) <= beforeMs && !kept.has(name);
  }

  async #claimDays(): Promise<number[]> {
    if (this.#table !== 'job_runs') return [];
    return (await this.#database.query<readonly [number]>(CLAIM_DAYS, [])).map(([day]) => day);
  }

  async #list(session: Session = this.#database): Promise<Partition[]> {
    type Row = readonly [name: string, isDefault: boolean, isHalfDetached: boolean];
    const rows = await session.query<Row>(LIST_PARTITIONS, [this.#table]);
    return rows.map(([name, isDefault, isHalfDetached]) => ({ name, isDefault, isHalfDetached }));
  }

  async #detached(session: Session = this.#database): Promise<string[]> {
    const rows = await session.query<readonly [string]>(LIST_DETACHED, [this.#table]);
    return rows.map(([name]) => name);
  }

  #name(day: number): string {
    return `${this.#table}_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
  }
}

/** A table that is not named like one of ours ends never: it is kept. */
function partitionEndMs(table: Partitioned, name: string): number {
  const [, year, month, day] = name.startsWith(`${table}_`)
    ? (/_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [])
    : [];
  const endMs = Date.UTC(Number(year), Number(month) - 1, Number(day)) + DAY_MS;
  return Number.isNaN(endMs) ? Number.POSITIVE_INFINITY : endMs;
}

/** Whether it was done; false where a lock was not available in time. */
export async function unlessLocked(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const isLocked =
      error instanceof StorageTimeout && (error.cause as { code?: unknown }).code === LOCK_NOT_AVAILABLE;
    if (isLocked) return false;
    throw error;
  }
}
