/**
 * Logs as objects of an S3-compatible store, which all servers share: `<prefix>/<day>/<run>/<epoch>-<server>/<segment>-<from>-<to>-<generation>.log`
 * is a part of a segment that this server wrote. An object is never changed: what a name says, its bytes are, so that a request that
 * arrives late harms nothing. Parts may overlap, with the same bytes: a small part is written again with what follows it, and removed
 * after that. The generation tells processes of a server apart: where the next one has gone on, a request of the one before that
 * arrives after its death has other bytes, and does not count. A large result is the same below `<epoch>-<server>.result/`, files that a run left below `<epoch>-<server>.artifacts/`.
 */
import type { Clock } from '@carillon/foundation';
import {
  dayOf,
  LogBeginningGone,
  type LogKey,
  type LogRange,
  type LogSegment,
  type LogStore,
} from '../log-store.ts';
import { LastParts, type Part } from './last-parts.ts';
import { S3Bucket, type S3BucketOptions } from './s3-bucket.ts';

export interface S3LogStoreOptions extends S3BucketOptions {
  /** Where logs are in the bucket: letters, digits, and . _ - / */
  readonly prefix: string;
  /** Ends of logs that are held in memory. */
  readonly lastPartsBytesMax?: number;
}

const PART_BYTES = 256 * 1_024;
const PART_MS = 5_000;
const LAST_PARTS_BYTES_MAX = 16 * 1_024 * 1_024;
const REQUESTS_MAX = 16;
/** Retention must remove as fast as all servers write. */
const DROPS_MAX = 64;
const DAY = /^\/(\d{4}-\d{2}-\d{2})\//;
const NAME = /\/(\d+)-(\d+)-(\d+)(?:-(\d+))?\.log$/;
/** Between the list and the reading, parts may be removed that others stand for. */
const READS_MAX = 3;

export class S3LogStore implements LogStore {
  readonly isShared = true;
  readonly pace = { everyMs: PART_MS, bytes: PART_BYTES };
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #lastParts: LastParts;
  /** When this process started, or more than any that it has seen: a clock may have been set back. */
  #generation: number;

  constructor(options: S3LogStoreOptions) {
    this.#bucket = new S3Bucket(options);
    this.#prefix = options.prefix;
    this.#clock = options.clock;
    this.#generation = options.clock.now();
    this.#lastParts = new LastParts({ bytesMax: options.lastPartsBytesMax ?? LAST_PARTS_BYTES_MAX });
  }

  async write(
    log: LogKey,
    { segment, offset }: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const name = this.#nameOf(log, segment);
    if (segment === 0 && offset === 0) await this.#removeAll(log);
    else await this.#checkBeginning(log, { segment, offset });
    const last = this.#lastParts.endingAt(this.#folderOf(log), { segment, offset });
    const before = last && last.bytes.length + bytes.length <= PART_BYTES ? last : undefined;
    const all = before ? Buffer.concat([before.bytes, bytes]) : bytes;
    const [from, to] = [before?.part.from ?? offset, offset + bytes.length];
    const generation = this.#generation;
    const part = { key: `${name}${from}-${to}-${generation}.log`, segment, from, to, generation };
    await this.#bucket.put(part.key, all);
    if (all.length < PART_BYTES) this.#lastParts.set(this.#folderOf(log), { part, bytes: all });
    else this.#lastParts.delete(this.#folderOf(log));
    // One that stays is read no more: the longer one stands for it.
    if (before && before.part.key !== part.key)
      await this.#bucket.remove(before.part.key).catch(() => undefined);
  }

  /** A database that was restored may give the same attempt again, to the same server. */
  async #removeAll(log: LogKey): Promise<void> {
    const folder = this.#folderOf(log);
    this.#lastParts.delete(folder);
    await this.#remove((await this.#parts(folder)).map(({ key }) => key));
  }

  /** Retention removes no log of today, so that most writes need no list. */
  async #checkBeginning(
    log: LogKey,
    { segment, offset }: { segment: number; offset: number },
  ): Promise<void> {
    if (offset === segment || log.day === dayOf(this.#clock.now())) return;
    const parts = inOrder(segment, await this.#parts(this.#nameOf(log, segment)));
    if ((parts.at(-1)?.to ?? segment) < offset)
      throw new LogBeginningGone('the beginning of the log has been removed');
  }

  async dropSegment(log: LogKey, segment: number): Promise<void> {
    this.#lastParts.delete(this.#folderOf(log), segment);
    await this.#remove(await this.#bucket.keys(this.#nameOf(log, segment)));
  }

  async segments(log: LogKey): Promise<LogSegment[]> {
    const bySegment = Map.groupBy(await this.#parts(this.#folderOf(log)), ({ segment }) => segment);
    return [...bySegment]
      .map(([start, parts]) => ({ start, bytes: (inOrder(start, parts).at(-1)?.to ?? start) - start }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => a.start - b.start);
  }

  async read(log: LogKey, { segment, from, bytesMax }: LogRange): Promise<Uint8Array> {
    for (let reads = 1; ; reads += 1) {
      const parts = inOrder(segment, await this.#parts(this.#nameOf(log, segment)));
      const wanted = rangesOf(parts, { from, to: from + bytesMax });
      const read = await inTurns(wanted, ({ key, skip, bytes }) =>
        this.#bucket.get(key, { from: skip, bytes }),
      );
      const missing = read.indexOf(undefined);
      if (missing < 0 || reads === READS_MAX)
        return Buffer.concat(read.slice(0, missing < 0 ? undefined : missing) as Uint8Array[]);
    }
  }

  async dropSome({ beforeDay }: { readonly beforeDay: string }): Promise<boolean> {
    // In the order of their days.
    const keys = await this.#bucket.someKeys(`${this.#prefix}/`);
    const old = keys.filter((key) => {
      const [, day] = DAY.exec(key.slice(this.#prefix.length)) ?? [];
      return day !== undefined && day < beforeDay;
    });
    await inTurns(old, (key) => this.#bucket.remove(key), DROPS_MAX);
    return old.length > 0;
  }

  async close(): Promise<void> {
    this.#bucket.close();
    this.#lastParts.clear();
  }

  #folderOf({ day, runId, epoch, writer, part }: LogKey): string {
    const log = writer === undefined ? String(epoch) : `${epoch}-${writer}`;
    return `${this.#prefix}/${day}/${runId}/${log}${part === undefined ? '' : `.${part}`}/`;
  }

  #nameOf(log: LogKey, segment: number): string {
    return `${this.#folderOf(log)}${segment}-`;
  }

  async #parts(prefix: string): Promise<Part[]> {
    const parts = (await this.#bucket.keys(prefix)).flatMap((key) => {
      const found = NAME.exec(key);
      if (!found) return [];
      const [segment, from, to, generation] = found.slice(1).map((digits = '0') => Number(digits));
      return [{ key, segment: segment!, from: from!, to: to!, generation: generation! }];
    });
    for (const { generation } of parts) if (generation > this.#generation) this.#generation = generation + 1;
    return parts;
  }

  async #remove(keys: readonly string[]): Promise<void> {
    await inTurns(keys, (key) => this.#bucket.remove(key));
  }
}

/** Parts that follow each other from the beginning of the segment on, without those that others stand for, and with what counts of each. */
function inOrder(segment: number, parts: readonly Part[]): Part[] {
  const chosen: Part[] = [];
  let end = segment;
  for (const part of currentOf(parts).sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (part.from > end) break;
    if (part.to <= end) continue;
    chosen.push(part);
    end = part.to;
  }
  return chosen;
}

/** A generation counts up to where the next has gone on. */
function currentOf(parts: readonly Part[]): Part[] {
  const current: Part[] = [];
  let end = Number.POSITIVE_INFINITY;
  const generations = [...Map.groupBy(parts, ({ generation }) => generation)].sort(([a], [b]) => b - a);
  for (const [, own] of generations) {
    for (const part of own) current.push({ ...part, to: Math.min(part.to, end) });
    for (const { from } of own) end = Math.min(end, from);
  }
  return current;
}

/** Which bytes of which objects make up a range. */
function rangesOf(
  parts: readonly Part[],
  { from, to }: { readonly from: number; readonly to: number },
): { readonly key: string; readonly skip: number; readonly bytes: number }[] {
  let at = from;
  return parts.flatMap((part) => {
    const end = Math.min(part.to, to);
    if (part.from > at || end <= at) return [];
    const range = { key: part.key, skip: at - part.from, bytes: end - at };
    at = end;
    return [range];
  });
}

/** In the order of the items, with a bound on how many are under way. */
async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnceMax = REQUESTS_MAX,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnceMax)
    results.push(...(await Promise.all(items.slice(at, at + atOnceMax).map(work))));
  return results;
}
