/**
 * What comes next in the shards of this owner: rows are read ahead in the order of their instants, up to the end of a window or
 * a bound per shard, and held in a min-heap, so that each is handled at its instant and not at the next read. Rows that appear
 * where reading has passed come through hints, or through a sweep over the last seconds; a full pass finds whatever both missed.
 */
import { MinHeap } from '@carillon/foundation';
import type { ReadWindow, ShardPlace } from '../storage/schedule-store.ts';

interface Planned {
  readonly shard: number;
  readonly fireAtMs: number;
}

export interface LookAheadOptions<Row extends Planned> {
  readonly read: (places: readonly ShardPlace[], window: ReadWindow) => Promise<Row[]>;
  /** Tells rows apart; a row that moved to another instant is another row. */
  readonly keyOf: (row: Row) => string;
  /** Its place among those of the same instant, as the storage orders them. */
  readonly idOf: (row: Row) => string;
  readonly windowMs: number;
  /** Rows held of one shard, about: a bound per shard, so that none stands before another. */
  readonly rowsPerShard: number;
}

interface Window {
  readonly epoch: number;
  /** Everything up to here was read. */
  afterMs: number;
  afterId: string;
  held: number;
  /** Something was heard that lies before the place: read, however many rows are held. */
  isTouched: boolean;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** New rows are due no earlier than their insertion; this much covers slow commits and differing clocks. */
const SWEEP_BACK_MS = 15_000;
const SWEEP_AHEAD_MS = 2_000;

export class LookAhead<Row extends Planned> {
  readonly #options: LookAheadOptions<Row>;
  readonly #heap = new MinHeap<Row>((a, b) => a.fireAtMs - b.fireAtMs);
  readonly #known = new Set<string>();
  readonly #shards = new Map<number, Window>();

  constructor(options: LookAheadOptions<Row>) {
    this.#options = options;
  }

  get size(): number {
    return this.#heap.size;
  }

  nextAtMs(): number | undefined {
    return this.#heap.peek()?.fireAtMs;
  }

  /** Follows ownership: forgets shards that are gone, reads from the start those that are new or changed hands meanwhile. */
  own(epochs: ReadonlyMap<number, number>): void {
    for (const [shard, window] of this.#shards) {
      if (epochs.get(shard) !== window.epoch) this.#shards.delete(shard);
    }
    this.#heap.retain((row) => this.#shards.has(row.shard) || this.#forget(row));
    for (const [shard, epoch] of epochs) {
      if (!this.#shards.has(shard))
        this.#shards.set(shard, { epoch, afterMs: 0, afterId: FIRST_ID, held: 0, isTouched: true });
    }
  }

  /** Something was added in the shard, at the instant or later. */
  touch(shard: number, atMs: number): void {
    const window = this.#shards.get(shard);
    if (!window || window.afterMs < atMs) return;
    window.afterMs = atMs - 1;
    window.afterId = LAST_ID;
    window.isTouched = true;
  }

  /** Reads everything from the start again. */
  restart(): void {
    for (const window of this.#shards.values()) {
      window.afterMs = 0;
      window.afterId = FIRST_ID;
      window.isTouched = true;
    }
  }

  /** Reads on where that is due; false when nothing was to be read. */
  async readAhead(nowMs: number): Promise<boolean> {
    const { windowMs, rowsPerShard, read } = this.#options;
    const untilMs = nowMs + windowMs;
    const wanted = [...this.#shards].filter(([, window]) => this.#isWanted(window, nowMs));
    if (wanted.length === 0) return false;
    const places = wanted.map(([shard, { afterMs, afterId }]) => ({ shard, afterMs, afterId }));
    for (const [, window] of wanted) window.isTouched = false;
    const rows = await read(places, { untilMs, limitPerShard: rowsPerShard }).catch((error: unknown) => {
      for (const [, window] of wanted) window.isTouched = true;
      throw error;
    });
    const byShard = Map.groupBy(rows, (row) => row.shard);
    for (const { shard, afterMs, afterId } of places) {
      const window = this.#shards.get(shard);
      if (!window) continue;
      const found = byShard.get(shard) ?? [];
      for (const row of found) this.#hold(row, window);
      // Touched meanwhile: what was heard may lie behind what was just read, so the place stays where that put it.
      if (window.afterMs !== afterMs || window.afterId !== afterId) continue;
      const last = found.length < rowsPerShard ? undefined : found.at(-1);
      window.afterMs = last ? last.fireAtMs : untilMs;
      window.afterId = last ? this.#options.idOf(last) : LAST_ID;
      this.#trim(shard, window);
    }
    return true;
  }

  /** Looks over the last seconds again, and a little ahead, in shards that were read past it. */
  async sweep(nowMs: number): Promise<void> {
    const { rowsPerShard: limitPerShard, read } = this.#options;
    const untilMs = nowMs + SWEEP_AHEAD_MS;
    const places = [...this.#shards.keys()].map((shard) => ({
      shard,
      afterMs: nowMs - SWEEP_BACK_MS,
      afterId: FIRST_ID,
    }));
    if (places.length === 0) return;
    for (const row of await read(places, { untilMs, limitPerShard })) {
      const window = this.#shards.get(row.shard);
      if (window) this.#hold(row, window);
    }
  }

  /** Takes out rows whose instant has come, at most so many, the earliest first. */
  takeDue(nowMs: number, max: number): Row[] {
    const rows: Row[] = [];
    for (
      let top = this.#heap.peek();
      top && top.fireAtMs <= nowMs && rows.length < max;
      top = this.#heap.peek()
    ) {
      this.#heap.pop();
      this.#forget(top);
      rows.push(top);
    }
    return rows;
  }

  /** Puts back what was taken and could not be handled. */
  putBack(rows: readonly Row[]): void {
    for (const row of rows) {
      const window = this.#shards.get(row.shard);
      if (window) this.#hold(row, window);
    }
  }

  /** Worth a read: it was touched, or it is not read to the window's end (with some slack) and few of its rows are left. */
  #isWanted(window: Window, nowMs: number): boolean {
    const { windowMs, rowsPerShard } = this.#options;
    return (
      window.isTouched ||
      (window.afterMs < nowMs + windowMs / 2 && window.held <= Math.floor(rowsPerShard / 2))
    );
  }

  /** Hints can bring any number of rows: past twice the bound the latest go, and are read again in time. */
  #trim(shard: number, window: Window): void {
    const { rowsPerShard, idOf } = this.#options;
    if (window.held <= rowsPerShard * 2) return;
    const own: Row[] = [];
    this.#heap.retain((row) => {
      if (row.shard === shard) own.push(row);
      return row.shard !== shard;
    });
    own.sort((a, b) => a.fireAtMs - b.fireAtMs || (idOf(a) < idOf(b) ? -1 : 1));
    for (const row of own) this.#forget(row);
    const kept = own.slice(0, rowsPerShard);
    for (const row of kept) this.#hold(row, window);
    const last = kept.at(-1)!;
    window.afterMs = last.fireAtMs;
    window.afterId = idOf(last);
  }

  #hold(row: Row, window: Window): void {
    const key = this.#options.keyOf(row);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    window.held += 1;
    this.#heap.push(row);
  }

  #forget(row: Row): false {
    this.#known.delete(this.#options.keyOf(row));
    const window = this.#shards.get(row.shard);
    if (window) window.held -= 1;
    return false;
  }
}
