/**
 * Generations on PostgreSQL. A promotion shows in the timeline, and statements count it by themselves; it is only remembered here.
 * Other replacements are noticed by looking: another cluster or another database of it, or transaction ids that went back, which
 * only a process can notice that has seen the later ones.
 */
import { type Database, RollBack, type Session } from '../../postgres/database.ts';
import { GENERATIONS_MAX, type GenerationCheck, type GenerationStore } from '../generation-store.ts';
import {
  BEGIN_GENERATION,
  LOOK_AT_GENERATION,
  lockEvents,
  REMEMBER_FIRST,
  REMEMBER_PROMOTION,
} from './generation.sql.ts';
import { LIMIT_LOCK_WAITS } from './partition.sql.ts';

type LookRow = readonly [
  seen: number | null,
  seenSystem: string,
  seenTimeline: number,
  seenDatabase: string,
  generation: number,
  system: string,
  timeline: number,
  database: string,
  xmax: string,
];

interface Seen {
  readonly generation: number;
  readonly database: string;
  readonly xmax: bigint;
}

/** While it waits for those who record events, all others wait behind it. */
const LOCK_WAIT = '2s';
/** Others may be first, each of them once. */
const TRIES_MAX = 5;

export class PostgresGenerationStore implements GenerationStore {
  readonly #database: Database;
  #last: Seen | undefined;
  /** Begun or made lasting here, and not reported yet; the first check of a process reports it too. */
  #isUntold = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async look(): Promise<GenerationCheck> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const row = await this.#read();
      if (row[0] === null) await this.#database.query(REMEMBER_FIRST, []);
      else if (isReplaced(row) || this.#wentBack(row)) await this.#begin(row[0]);
      else {
        if (isPromoted(row)) await this.#remember(row);
        return this.#saw(row);
      }
    }
    throw new Error('the generation of the database kept changing while it was looked at');
  }

  async begin(): Promise<number> {
    const { generation } = await this.look();
    await this.#begin(generation);
    // Whoever was first, it is a later one.
    const begun = await this.look();
    this.#isUntold = begun.isNew;
    return begun.generation;
  }

  async #read(): Promise<LookRow> {
    const [row] = await this.#database.query<LookRow>(LOOK_AT_GENERATION, []);
    return row!;
  }

  /** Transaction ids of one database only grow. In a generation that this process does not know, somebody has noticed already. */
  #wentBack([, , , , generation, , , database, xmax]: LookRow): boolean {
    const last = this.#last;
    return last?.generation === generation && last.database === database && BigInt(xmax) < last.xmax;
  }

  #saw([, , , , generation, , , database, xmax]: LookRow): GenerationCheck {
    const isNew = this.#isUntold || (this.#last !== undefined && this.#last.generation !== generation);
    this.#isUntold = false;
    this.#last = { generation, database, xmax: BigInt(xmax) };
    return { generation, isNew };
  }

  /** What a promotion has begun already; who only learns the name of the system begins nothing. */
  async #remember([seen, , , , generation]: LookRow): Promise<void> {
    const rows = await this.#database.query(REMEMBER_PROMOTION, [seen]);
    if (rows.length > 0 && seen !== generation) this.#isUntold = true;
  }

  async #begin(seen: number): Promise<void> {
    await this.#database.transaction(async (session: Session) => {
      await session.query(LIMIT_LOCK_WAITS, [LOCK_WAIT]);
      await session.query(lockEvents(), []);
      const rows = await session.query(BEGIN_GENERATION, [seen, GENERATIONS_MAX]);
      if (rows.length === 0) throw new RollBack(undefined);
      this.#isUntold = true;
    });
  }
}

/** What is unknown, or was unknown when it was stored, is no difference. */
function isReplaced([, seenSystem, , seenDatabase, , system, , database]: LookRow): boolean {
  return seenDatabase !== database || (seenSystem !== '' && system !== '' && seenSystem !== system);
}

function isPromoted([, seenSystem, seenTimeline, , , system, timeline]: LookRow): boolean {
  return (timeline !== 0 && timeline !== seenTimeline) || (system !== '' && seenSystem === '');
}
