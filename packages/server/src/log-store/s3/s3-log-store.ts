/**
 * Logs as objects of an S3-compatible store, which all servers share: `<prefix>/<day>/<run>/<epoch>-<server>/<segment>-<from>-<to>.log`
 * is a part of a segment that this server wrote. An object is never changed: what a name says, its bytes are, so that a request that
 * arrives late harms nothing. Parts may overlap, with the same bytes: a small part is written again with what follows it, and removed
 * after that. A large result is the same below `<epoch>.result/`.
 */
import type { Clock } from '@carillon/foundation';
import { dayOf, LogBeginningGone, type LogKey, type LogSegment, type LogStore } from '../log-store.ts';
import { S3Bucket, type S3BucketOptions } from './s3-bucket.ts';

export interface S3LogStoreOptions extends S3BucketOptions {
  /** Where logs are in the bucket: letters, digits, and . _ - / */
  readonly prefix: string;
}

interface Part {
  readonly key: string;
  readonly segment: number;
  readonly from: number;
  readonly to: number;
}

/** The last part of a segment, as long as it may grow. */
interface LastPart {
  readonly part: Part;
  readonly bytes: Uint8Array;
}

const PART_BYTES = 256 * 1_024;
const PART_MS = 5_000;
/** Last parts that are remembered: 16 MiB at most. Where one is forgotten, its log has a small part more. */
const LAST_PARTS_MAX = 64;
const REQUESTS_MAX = 16;
const DAY = /^\/(\d{4}-\d{2}-\d{2})\//;
const NAME = /\/(\d+)-(\d+)-(\d+)\.log$/;
/** Between the list and the reading, parts may be removed that others stand for. */
const READS_MAX = 3;

export class S3LogStore implements LogStore {
  readonly isShared = true;
  readonly pace = { everyMs: PART_MS, bytes: PART_BYTES };
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #clock: Clock;
  /** By log and segment, the one that was written last at the end. */
  readonly #lastParts = new Map<string, LastPart>();

  constructor(options: S3LogStoreOptions) {
    this.#bucket = new S3Bucket(options);
    this.#prefix = options.prefix;
    this.#clock = options.clock;
  }

  async write(
    log: LogKey,
    { segment, offset }: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const name = this.#nameOf(log, segment);
    if (segment === 0 && offset === 0) await this.#removeAll(log);
    else await this.#checkBeginning(log, { segment, offset });
    const last = this.#lastParts.get(name);
    const before =
      last?.part.to === offset && last.bytes.length + bytes.length <= PART_BYTES ? last : undefined;
    const all = before ? Buffer.concat([before.bytes, bytes]) : bytes;
    const [from, to] = [before?.part.from ?? offset, offset + bytes.length];
    const part = { key: `${name}${from}-${to}.log`, segment, from, to };
    await this.#bucket.put(part.key, all);
    this.#remember(name, { part, bytes: Buffer.from(all) });
    // One that stays is read no more: the longer one stands for it.
    if (before && before.part.to !== to) await this.#bucket.remove(before.part.key).catch(() => undefined);
  }

  /** A database that was restored may give the same attempt again, to the same server. */
  async #removeAll(log: LogKey): Promise<void> {
    const folder = this.#folderOf(log);
    for (const name of this.#lastParts.keys()) if (name.startsWith(folder)) this.#lastParts.delete(name);
    await this.#remove(await this.#bucket.keys(folder));
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
    const name = this.#nameOf(log, segment);
    this.#lastParts.delete(name);
    await this.#remove(await this.#bucket.keys(name));
  }

  async segments(log: LogKey): Promise<LogSegment[]> {
    const bySegment = Map.groupBy(await this.#parts(this.#folderOf(log)), ({ segment }) => segment);
    return [...bySegment]
      .map(([start, parts]) => ({ start, bytes: (inOrder(start, parts).at(-1)?.to ?? start) - start }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => a.start - b.start);
  }

  async read(
    log: LogKey,
    {
      segment,
      from,
      bytesMax,
    }: { readonly segment: number; readonly from: number; readonly bytesMax: number },
  ): Promise<Uint8Array> {
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
    await this.#remove(old);
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
    return (await this.#bucket.keys(prefix)).flatMap((key) => {
      const [, segment, from, to] = NAME.exec(key) ?? [];
      return segment === undefined
        ? []
        : [{ key, segment: Number(segment), from: Number(from), to: Number(to) }];
    });
  }

  async #remove(keys: readonly string[]): Promise<void> {
    await inTurns(keys, (key) => this.#bucket.remove(key));
  }

  #remember(name: string, last: LastPart): void {
    this.#lastParts.delete(name);
    if (last.bytes.length < PART_BYTES) this.#lastParts.set(name, last);
    const [oldest] = this.#lastParts.keys();
    if (this.#lastParts.size > LAST_PARTS_MAX) this.#lastParts.delete(oldest!);
  }
}

/** Parts that follow each other from the beginning of the segment on, without those that others stand for. */
function inOrder(segment: number, parts: readonly Part[]): Part[] {
  const chosen: Part[] = [];
  let end = segment;
  for (const part of [...parts].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (part.from > end) break;
    if (part.to <= end) continue;
    chosen.push(part);
    end = part.to;
  }
  return chosen;
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
async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += REQUESTS_MAX)
    results.push(...(await Promise.all(items.slice(at, at + REQUESTS_MAX).map(work))));
  return results;
}
