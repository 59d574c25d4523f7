/** Logs in memory: for tests, and for engines that have no folder. Old ones make room: it never holds more than a bound. */
import { LogBeginningGone, type LogKey, type LogRange, type LogSegment, type LogStore } from './log-store.ts';

type Segments = Map<number, Buffer>;

const BYTES_MAX = 64 * 1_024 * 1_024;

export class MemoryLogStore implements LogStore {
  readonly isShared = false;
  readonly #bytesMax: number;
  /** In the order in which they began. */
  readonly #logs = new Map<string, { readonly day: string; readonly segments: Segments }>();
  #bytes = 0;

  constructor({ bytesMax = BYTES_MAX }: { readonly bytesMax?: number } = {}) {
    this.#bytesMax = bytesMax;
  }

  async write(
    log: LogKey,
    { segment, offset }: { readonly segment: number; readonly offset: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const name = nameOf(log);
    if (segment === 0 && offset === 0) this.#drop(name);
    const { segments } = this.#logs.get(name) ?? { segments: new Map<number, Buffer>() };
    if ((segments.get(segment)?.length ?? 0) < offset - segment)
      throw new LogBeginningGone('the beginning of the log has been removed');
    this.#logs.set(name, { day: log.day, segments });
    const before = segments.get(segment) ?? Buffer.alloc(0);
    const after = Buffer.concat([before.subarray(0, offset - segment), bytes]);
    segments.set(segment, after);
    this.#bytes += after.length - before.length;
    for (const [old] of this.#logs) {
      if (this.#bytes <= this.#bytesMax || old === name) break;
      this.#drop(old);
    }
  }

  async dropSegment(log: LogKey, segment: number): Promise<void> {
    const segments = this.#logs.get(nameOf(log))?.segments;
    this.#bytes -= segments?.get(segment)?.length ?? 0;
    segments?.delete(segment);
  }

  async segments(log: LogKey): Promise<LogSegment[]> {
    const segments = this.#logs.get(nameOf(log))?.segments ?? [];
    return [...segments]
      .map(([start, { length: bytes }]) => ({ start, bytes }))
      .sort((a, b) => a.start - b.start);
  }

  async read(log: LogKey, { segment, from, bytesMax }: LogRange): Promise<Uint8Array> {
    const bytes = this.#logs.get(nameOf(log))?.segments.get(segment);
    return bytes?.subarray(from - segment, from - segment + bytesMax) ?? new Uint8Array();
  }

  async dropSome({ beforeDay }: { readonly beforeDay: string }): Promise<boolean> {
    for (const [name, { day }] of this.#logs) if (day < beforeDay) this.#drop(name);
    return false;
  }

  async close(): Promise<void> {}

  #drop(name: string): void {
    for (const { length } of this.#logs.get(name)?.segments.values() ?? []) this.#bytes -= length;
    this.#logs.delete(name);
  }
}

function nameOf({ day, runId, epoch, writer, part = 'log' }: LogKey): string {
  return `${day}/${runId}/${epoch}/${writer ?? ''}.${part}`;
}
