/**
 * The log of one attempt on its way to the store: lines, each with its instant and stream, in segments. Keeps the beginning and the end
 * of what was written: segments between them are dropped. What waits to be written is bounded; what comes beyond is left out and counted,
 * and a line of the log says so.
 */
import { isUtf8 } from 'node:buffer';
import { GrowingBytes } from '@carillon/foundation';
import type { OutputChunk, OutputStream } from '@carillon/worker';
import { lineHead } from '../log-store/log-line.ts';

export const LINE_BYTES_MAX = 64 * 1_024;
/** The beginning of an attempt, which is always kept. */
export const HEAD_BYTES_MAX = 8 * 1_024 * 1_024;
/** The end: so many segments of this size, the last one being filled. */
export const TAIL_SEGMENTS_MAX = 4;
export const TAIL_SEGMENT_BYTES_MAX = 512 * 1_024;
/** Of one attempt at one server, about. */
export const ATTEMPT_BYTES_MAX = HEAD_BYTES_MAX + TAIL_SEGMENTS_MAX * TAIL_SEGMENT_BYTES_MAX;
/** Of one attempt, not yet in the store. */
export const UNWRITTEN_BYTES_MAX = 1_024 * 1_024;

const BLOCK_BYTES_MIN = 4 * 1_024;
const BLOCK_BYTES_MAX = 64 * 1_024;
const FULL =
  'Nothing more of this run is kept: the logs of all its attempts together have reached their bound.';
const NEWLINE = 10;
const RETURN = 13;
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes of one segment that follow each other. */
export interface Batch {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Where a log goes on, and how far. */
export interface LogPlace {
  /** Their starts, and where the last of them ends. */
  readonly segments: readonly number[];
  readonly end: number;
  /** Its last line has no end. */
  readonly isTorn: boolean;
  readonly lines: number;
  readonly firstAtMs: number;
  /** What to say before anything else, with the instant of the line that it stands behind: whoever sorts by time finds it there. */
  readonly mark: string | undefined;
  readonly lastAtMs: number | undefined;
  /** So long may the log become. */
  readonly bytesMax: number;
}

interface Block {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: Buffer;
  used: number;
}

/** The beginning of a line whose end has not come yet. */
interface UnfinishedLine {
  readonly bytes: GrowingBytes;
  readonly atMs: number;
}

export class AttemptLog {
  /** Where the next byte goes. */
  offset = 0;
  lines = 0;
  firstAtMs: number;
  lastAtMs: number;
  incomplete = false;
  /** Segments that are in the store or on their way there, oldest first. */
  readonly segments: number[] = [0];
  #blocks: Block[] = [];
  readonly #unfinished = new Map<OutputStream, UnfinishedLine>();
  #unfinishedBytes = 0;
  /** Written into blocks that the store has not taken. */
  #blockBytes = 0;
  #leftOut = 0;
  #reason = '';
  #bytesMax = Number.POSITIVE_INFINITY;
  #isFull = false;

  constructor(atMs: number) {
    this.firstAtMs = atMs;
    this.lastAtMs = atMs;
  }

  /** What this log holds in memory. */
  get unwrittenBytes(): number {
    return this.#blockBytes + this.#unfinishedBytes;
  }

  /** For tests: the pieces of memory that it keeps, and how much they take with what is unused of them. */
  held(): { readonly buffers: number; readonly bytes: number } {
    const unfinished = Array.from(this.#unfinished.values(), ({ bytes }) => bytes.view());
    const buffers = [...this.#blocks.map(({ bytes }) => bytes), ...unfinished];
    return {
      buffers: buffers.length,
      bytes: buffers.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
    };
  }

  get hasLines(): boolean {
    return this.#blocks.length > 0;
  }

  /** Goes on after what is in the store. Called before anything was given to the store, or when what it had is gone. */
  goOn(place: LogPlace, atMs: number): void {
    const waiting = this.#blocks;
    this.#blocks = [];
    this.#blockBytes = 0;
    this.segments.splice(0, 1, ...(place.segments.length > 0 ? place.segments : [0]));
    this.offset = place.end;
    this.lines += place.lines;
    this.firstAtMs = Math.min(this.firstAtMs, place.firstAtMs);
    this.#bytesMax = place.bytesMax;
    // What is not kept for this reason was said in the log that reached the bound.
    this.#isFull = place.bytesMax <= 0;
    if (place.isTorn) this.#push({ bytes: Buffer.of(NEWLINE), used: 1 });
    if (place.mark !== undefined) {
      this.incomplete = true;
      this.#addLine('system', place.lastAtMs ?? atMs, Buffer.from(place.mark));
    }
    for (const block of waiting) if (this.#hasRoom(block.used, atMs)) this.#push(block);
  }

  /** What the store had of it was removed: it begins with what waits, after a mark. */
  beginAnew(atMs: number, mark: string): void {
    this.segments.length = 1;
    const place = {
      segments: [],
      end: 0,
      isTorn: false,
      lines: 0,
      firstAtMs: atMs,
      lastAtMs: undefined,
      mark,
    };
    this.goOn({ ...place, bytesMax: this.#bytesMax }, atMs);
  }

  /** room: how many bytes all logs together may still take. */
  add({ stream, atMs, bytes }: OutputChunk, { room, reason }: { room: number; reason: string }): void {
    const roomAfter = this.unwrittenBytes + room;
    let start = 0;
    while (start < bytes.length) {
      const found = bytes.indexOf(NEWLINE, start);
      const end = found < 0 ? bytes.length : found;
      this.#addPart(stream, atMs, bytes.subarray(start, end), {
        ...{ isEnd: found >= 0, roomAfter, reason },
      });
      start = end + 1;
    }
  }

  /** Lines that never ended, and what was left out last, become lines. */
  end(atMs: number): void {
    for (const stream of [...this.#unfinished.keys()]) this.#endUnfinished(stream);
    this.#tellLeftOut(atMs);
  }

  /** The next bytes for the store; they stay in memory until `wrote`. */
  next(): Batch | undefined {
    const [first] = this.#blocks;
    if (first === undefined) return undefined;
    const same = this.#blocks.filter(({ segment }) => segment === first.segment);
    if (same.length === 1 && first.used === first.bytes.length) return first;
    // One block without room: lines that come meanwhile go into the next, and however often the store fails, no memory is left unused.
    const used = same.reduce((sum, block) => sum + block.used, 0);
    const joined = { ...first, bytes: Buffer.allocUnsafeSlow(used), used };
    for (const block of same) block.bytes.copy(joined.bytes, block.offset - first.offset, 0, block.used);
    this.#blocks.splice(0, same.length, joined);
    return joined;
  }

  /** The store has the batch. Nothing is left of it where the log was given up meanwhile. */
  wrote({ offset, bytes }: Batch): void {
    const end = offset + bytes.length;
    for (const block of this.#blocks) if (block.offset < end) this.#blockBytes -= block.used;
    this.#blocks = this.#blocks.filter((block) => block.offset >= end);
  }

  /** Segments that make room for later ones. */
  surplus(): number[] {
    return this.segments.splice(1, Math.max(0, this.segments.length - 1 - TAIL_SEGMENTS_MAX));
  }

  /** The store is away for too long: what is in memory is lost. */
  giveUp(): void {
    this.incomplete = true;
    this.#blocks = [];
    this.#blockBytes = 0;
    this.#unfinished.clear();
    this.#unfinishedBytes = 0;
  }

  #addPart(
    stream: OutputStream,
    atMs: number,
    part: Uint8Array,
    { isEnd, roomAfter, reason }: { isEnd: boolean; roomAfter: number; reason: string },
  ): void {
    if (this.unwrittenBytes + part.length > Math.min(UNWRITTEN_BYTES_MAX, roomAfter)) {
      this.incomplete = true;
      this.#reason = reason;
      this.#leftOut += part.length + (isEnd ? 1 : 0);
      return;
    }
    if (this.#leftOut > 0) this.#tellLeftOut(atMs);
    if (isEnd && !this.#unfinished.has(stream) && part.length <= LINE_BYTES_MAX) {
      this.#addLine(stream, atMs, part);
      return;
    }
    let rest = part;
    for (;;) {
      const unfinished = this.#unfinished.get(stream) ?? { bytes: new GrowingBytes(), atMs };
      this.#unfinished.set(stream, unfinished);
      if (unfinished.bytes.length === LINE_BYTES_MAX && rest.length > 0) {
        this.#splitUnfinished(stream);
        continue;
      }
      const taken = rest.subarray(0, LINE_BYTES_MAX - unfinished.bytes.length);
      unfinished.bytes.add(taken);
      this.#unfinishedBytes += taken.length;
      rest = rest.subarray(taken.length);
      if (rest.length === 0) break;
    }
    if (isEnd) this.#endUnfinished(stream);
  }

  /** A line that is too long goes on in the next, which begins with a whole character. */
  #splitUnfinished(stream: OutputStream): void {
    const { bytes, atMs } = this.#unfinished.get(stream)!;
    const line = bytes.view();
    const cut = endOfCharacters(line);
    this.#removeUnfinished(stream);
    this.#addLine(stream, atMs, line.subarray(0, cut));
    const rest = line.subarray(cut);
    if (rest.length === 0) return;
    const begun = new GrowingBytes();
    begun.add(rest);
    this.#unfinished.set(stream, { bytes: begun, atMs });
    this.#unfinishedBytes += rest.length;
  }

  #endUnfinished(stream: OutputStream): void {
    const unfinished = this.#unfinished.get(stream);
    if (unfinished === undefined) return;
    this.#removeUnfinished(stream);
    this.#addLine(stream, unfinished.atMs, unfinished.bytes.view());
  }

  #removeUnfinished(stream: OutputStream): void {
    this.#unfinishedBytes -= this.#unfinished.get(stream)?.bytes.length ?? 0;
    this.#unfinished.delete(stream);
  }

  #tellLeftOut(atMs: number): void {
    if (this.#leftOut === 0) return;
    const text = `${this.#leftOut} bytes of output are missing here: ${this.#reason}.`;
    this.#leftOut = 0;
    this.#addLine('system', atMs, Buffer.from(text));
  }

  #push({ bytes, used }: Pick<Block, 'bytes' | 'used'>): void {
    this.#blocks.push({ segment: this.segments.at(-1)!, offset: this.offset, bytes, used });
    this.#blockBytes += used;
    this.offset += used;
  }

  /** Says once that there is none. */
  #hasRoom(length: number, atMs: number): boolean {
    if (this.#isFull || this.offset + length <= this.#bytesMax) return !this.#isFull;
    this.#bytesMax = Number.POSITIVE_INFINITY;
    this.incomplete = true;
    this.#addLine('system', atMs, Buffer.from(FULL));
    this.#isFull = true;
    return false;
  }

  #addLine(stream: OutputStream, atMs: number, line: Uint8Array): void {
    const prefix = lineHead({ atMs, stream });
    const text = safeText(line.at(-1) === RETURN ? line.subarray(0, -1) : line);
    const length = prefix.length + text.length + 1;
    if (!this.#hasRoom(length, atMs)) return;
    const block = this.#blockFor(length);
    block.bytes.write(prefix, block.used, 'latin1');
    block.bytes.set(text, block.used + prefix.length);
    block.bytes[block.used + length - 1] = NEWLINE;
    block.used += length;
    this.#blockBytes += length;
    this.offset += length;
    this.lines += 1;
    this.lastAtMs = Math.max(this.lastAtMs, atMs);
  }

  #blockFor(length: number): Block {
    const segment = this.#segmentFor(length);
    const last = this.#blocks.at(-1);
    if (last?.segment === segment && last.bytes.length - last.used >= length) return last;
    const bytes = Math.max(length, Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, this.#blockBytes)));
    const block = { segment, offset: this.offset, bytes: Buffer.allocUnsafeSlow(bytes), used: 0 };
    this.#blocks.push(block);
    return block;
  }

  /** Segments begin with a line, so that a gap between two of them cuts none. */
  #segmentFor(length: number): number {
    const current = this.segments.at(-1)!;
    const bytesMax = current === 0 ? HEAD_BYTES_MAX : TAIL_SEGMENT_BYTES_MAX;
    if (this.offset + length - current <= bytesMax || this.offset === current) return current;
    this.segments.push(this.offset);
    return this.offset;
  }
}

/** Text for sure: what is no UTF-8 is replaced, and zeros too, which end a text for many programs. */
function safeText(line: Uint8Array): Uint8Array {
  if (isUtf8(line) && !line.includes(0)) return line;
  return Buffer.from(DECODER.decode(line).replaceAll('\0', '\ufffd'));
}

/** How many bytes are whole characters: the last one may go on in the next line. */
function endOfCharacters(line: Uint8Array): number {
  const { length } = line;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = line[length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}
