/**
 * The rows that are due next in the shards of this owner: read ahead in the order of their instants, up to the end of a window or a
 * bound per shard, and kept in min-heaps, so that each is handled at its instant and not at the next read. Rows that appear behind
 * the reading position come through hints, or through a sweep over the last seconds; a full sweep finds what both missed.
 */
import { MinHeap } from '@carillon/foundation';
import type { ReadWindow, ShardPosition } from '../storage/schedule-store.ts';

interface Planned {
  readonly shard: number;
  readonly fireAtMs: number;
}

export interface LookAheadOptions<Row extends Planned> {
  readonly read: (positions: readonly ShardPosition[], window: ReadWindow) => Promise<Row[]>;
  /** Tells rows apart; a row that moved to another instant is another row. */
  readonly keyOf: (row: Row) => string;
  /** Orders rows of the same instant, as the storage does. */
  readonly idOf: (row: Row) => string;
  readonly windowMs: number;
  /** Rows kept of one shard, about: a bound per shard, so that no shard delays another. */
  readonly rowsPerShard: number;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** New rows are due no earlier than their insertion; this much covers slow commits and differing clocks. */
const SWEEP_BACK_MS = 15_000;
const SWEEP_AHEAD_MS = 2_000;
/** Where enough rows are in memory, a read is for the few rows that hints named. */
const TOUCHED_ROWS = 128;

/** What is known of one shard. */
class Window<Row extends Planned> {
  readonly epoch: number;
  /** Everything up to here was read. */
  afterMs = 0;
  afterId = FIRST_ID;
  /** Something was heard that lies before the position: read, however many rows are in memory. */
  isTouched = true;
  /** The earliest instant that a hint named during a read: the read may have begun before that row was there. */
  heardMs = Number.POSITIVE_INFINITY;
  readonly #rows: MinHeap<Row>;
  readonly #known = new Set<string>();
  readonly #options: LookAheadOptions<Row>;

  constructor(epoch: number, options: LookAheadOptions<Row>) {
    this.epoch = epoch;
    this.#options = options;
    this.#rows = new MinHeap((a, b) => this.#compare(a, b));
  }

  get size(): number {
    return this.#rows.size;
  }

  get first(): Row | undefined {
    return this.#rows.peek();
  }

  hold(row: Row): void {
    const key = this.#options.keyOf(row);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#rows.push(row);
  }

  take(): Row | undefined {
    const row = this.#rows.pop();
    if (row) this.#known.delete(this.#options.keyOf(row));
    return row;
  }

  /** A row that is known to be there: held if reading has passed it, else it will be read. */
  offer(row: Row): void {
    const { fireAtMs } = row;
    const id = this.#options.idOf(row);
    if (fireAtMs > this.afterMs || (fireAtMs === this.afterMs && id > this.afterId)) return;
    this.hold(row);
    this.#trim();
  }

  /** Everything before the instant is read, and the instant itself is not. */
  goBack(atMs: number): void {
    this.afterMs = atMs - 1;
    this.afterId = LAST_ID;
    this.isTouched = true;
  }

  /** Worth a read: it was touched, or it is not read to the window's end (with some slack) and few of its rows are left. */
  isWanted(nowMs: number): boolean {
    const { windowMs, rowsPerShard } = this.#options;
    if (this.isTouched) return true;
    if (this.afterMs >= nowMs + windowMs / 2) return false;
    return this.size <= Math.floor(rowsPerShard / 2) || this.#holdsOnlyLater();
  }

  /** These rows follow its position, and no others do until the instant. */
  readOn(rows: readonly Row[], { untilMs, limitPerShard }: ReadWindow): void {
    const { idOf } = this.#options;
    for (const row of rows) this.hold(row);
    const last = rows.length < limitPerShard ? undefined : rows.at(-1);
    this.afterMs = last ? last.fireAtMs : untilMs;
    this.afterId = last ? idOf(last) : LAST_ID;
    this.#trim();
    if (this.heardMs <= this.afterMs) this.goBack(this.heardMs);
  }

  /** Rows that came through hints stand before those that were not read yet. */
  #holdsOnlyLater(): boolean {
    const { first } = this;
    if (!first || first.fireAtMs !== this.afterMs) return !first || first.fireAtMs > this.afterMs;
    return this.#options.idOf(first) > this.afterId;
  }

  /** SCHED-6: past twice the bound, which hints can exceed, the latest rows are dropped, and read again in time. */
  #trim(): void {
    const { rowsPerShard, idOf } = this.#options;
    if (this.size <= rowsPerShard * 2) return;
    const kept: Row[] = [];
    while (kept.length < rowsPerShard) kept.push(this.take()!);
    this.#rows.retain(() => false);
    this.#known.clear();
    for (const row of kept) this.hold(row);
    const last = kept.at(-1)!;
    this.afterMs = last.fireAtMs;
    this.afterId = idOf(last);
  }

  #compare(a: Row, b: Row): number {
    if (a.fireAtMs !== b.fireAtMs) return a.fireAtMs - b.fireAtMs;
    const { idOf } = this.#options;
    return idOf(a) < idOf(b) ? -1 : 1;
  }
}

export class LookAhead<Row extends Planned> {
  readonly #options: LookAheadOptions<Row>;
  readonly #shards = new Map<number, Window<Row>>();
  /** By the clock, when the last sweep that did not fail began. */
  #sweptMs: number | undefined;

  constructor(options: LookAheadOptions<Row>) {
    this.#options = options;
  }

  get size(): number {
    let size = 0;
    for (const window of this.#shards.values()) size += window.size;
    return size;
  }

  nextAtMs(): number | undefined {
    return this.#earliest()?.first?.fireAtMs;
  }

  /** Follows ownership: forgets shards that are gone, reads from the start those that are new or changed hands meanwhile. */
  own(epochs: ReadonlyMap<number, number>): void {
    for (const [shard, window] of this.#shards) {
      if (epochs.get(shard) !== window.epoch) this.#shards.delete(shard);
    }
    for (const [shard, epoch] of epochs) {
      if (!this.#shards.has(shard)) this.#shards.set(shard, new Window(epoch, this.#options));
    }
  }

  /** A row that is known to be there. */
  offer(row: Row): void {
    this.#shards.get(row.shard)?.offer(row);
  }

  /** Something was added in the shard, at the instant or later. */
  touch(shard: number, atMs: number): void {
    const window = this.#shards.get(shard);
    if (!window) return;
    window.heardMs = Math.min(window.heardMs, atMs);
    if (window.afterMs >= atMs) window.goBack(atMs);
  }

  /** Reads everything from the instant on again. */
  restart(fromMs = 0): void {
    for (const shard of this.#shards.keys()) this.touch(shard, fromMs);
  }

  /** Reads on where that is due; false when nothing was to be read. */
  async readAhead(nowMs: number): Promise<boolean> {
    const { windowMs, rowsPerShard, read } = this.#options;
    const untilMs = nowMs + windowMs;
    const wanted = [...this.#shards].filter(([, window]) => window.isWanted(nowMs));
    if (wanted.length === 0) return false;
    const hasRoom = wanted.some(([, window]) => window.size <= rowsPerShard / 2);
    const limitPerShard = hasRoom ? rowsPerShard : Math.min(rowsPerShard, TOUCHED_ROWS);
    const positions = wanted.map(([shard, { afterMs, afterId }]) => ({ shard, afterMs, afterId }));
    for (const [, window] of wanted) {
      window.isTouched = false;
      window.heardMs = Number.POSITIVE_INFINITY;
    }
    const rows = await read(positions, { untilMs, limitPerShard }).catch((error: unknown) => {
      for (const [, window] of wanted) window.isTouched = true;
      throw error;
    });
    const byShard = Map.groupBy(rows, (row) => row.shard);
    for (const [shard, window] of wanted) {
      // Changed hands meanwhile: what was read is about another time.
      if (this.#shards.get(shard) === window)
        window.readOn(byShard.get(shard) ?? [], { untilMs, limitPerShard });
    }
    return true;
  }

  /**
   * Looks over the last seconds again, and a little ahead, in shards that were read past it. After sweeps that failed, or a clock that
   * was set, it begins where the last one did, so that no instant is left out.
   */
  async sweep(nowMs: number): Promise<void> {
    const { rowsPerShard: limitPerShard, read } = this.#options;
    const untilMs = nowMs + SWEEP_AHEAD_MS;
    const afterMs = Math.min(nowMs, this.#sweptMs ?? nowMs) - SWEEP_BACK_MS;
    this.#sweptMs ??= nowMs;
    const positions = [...this.#shards.keys()].map((shard) => ({ shard, afterMs, afterId: FIRST_ID }));
    if (positions.length > 0) {
      const rows = await read(positions, { untilMs, limitPerShard });
      for (const row of rows) this.#shards.get(row.shard)?.hold(row);
      // More than one page holds: reading on brings the rest.
      if (afterMs < nowMs - SWEEP_BACK_MS)
        for (const [shard, found] of Map.groupBy(rows, (row) => row.shard))
          if (found.length >= limitPerShard) this.touch(shard, found.at(-1)!.fireAtMs);
    }
    this.#sweptMs = nowMs;
  }

  /** Takes out rows whose instant has come, at most so many, the earliest first. */
  takeDue(nowMs: number, max: number): Row[] {
    const rows: Row[] = [];
    while (rows.length < max) {
      const window = this.#earliest();
      if (!window || window.first!.fireAtMs > nowMs) break;
      rows.push(window.take()!);
    }
    return rows;
  }

  /** Puts back what was taken and could not be handled. */
  putBack(rows: readonly Row[]): void {
    for (const row of rows) this.#shards.get(row.shard)?.hold(row);
  }

  /** The shard of the earliest row; there are few shards. */
  #earliest(): Window<Row> | undefined {
    let earliest: Window<Row> | undefined;
    for (const window of this.#shards.values()) {
      const { first } = window;
      if (first && (!earliest || first.fireAtMs < earliest.first!.fireAtMs)) earliest = window;
    }
    return earliest;
  }
}
