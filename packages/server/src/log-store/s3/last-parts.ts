/**
 * The last part of each log that is written, as long as it may grow: with what follows, it becomes one object instead of two. Bounded by
 * memory; the logs that were not written for longest are forgotten first, which costs each of them a small object more.
 */

export interface Part {
  readonly key: string;
  readonly segment: number;
  readonly from: number;
  readonly to: number;
  /** Of the process that wrote it: later ones have higher numbers. */
  readonly generation: number;
}

interface LastPart {
  readonly part: Part;
  readonly bytes: Uint8Array;
}

/** What an entry takes beside its bytes, about: its names, and the objects around them. */
const ENTRY_BYTES = 1_024;

export class LastParts {
  readonly #bytesMax: number;
  /** By the folder of the log; the one that was written last at the end. */
  readonly #byLog = new Map<string, LastPart>();
  #bytes = 0;

  constructor({ bytesMax }: { readonly bytesMax: number }) {
    this.#bytesMax = bytesMax;
  }

  /** One that ends there, in this segment. */
  endingAt(log: string, { segment, offset }: { segment: number; offset: number }): LastPart | undefined {
    const last = this.#byLog.get(log);
    return last?.part.segment === segment && last.part.to === offset ? last : undefined;
  }

  set(log: string, { part, bytes }: LastPart): void {
    this.delete(log);
    // A copy of just this length: whoever gave them may use their memory again.
    this.#byLog.set(log, { part, bytes: new Uint8Array(bytes) });
    this.#bytes += ENTRY_BYTES + bytes.length;
    for (const oldest of this.#byLog.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.delete(oldest);
    }
  }

  /** Left out: whichever segment it is in. */
  delete(log: string, segment?: number): void {
    const last = this.#byLog.get(log);
    if (!last || (segment !== undefined && last.part.segment !== segment)) return;
    this.#byLog.delete(log);
    this.#bytes -= ENTRY_BYTES + last.bytes.length;
  }

  clear(): void {
    this.#byLog.clear();
    this.#bytes = 0;
  }
}
