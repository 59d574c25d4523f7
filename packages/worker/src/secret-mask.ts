/**
 * Replaces secrets by `***` wherever a run says them: as they are, and in the forms in which they usually travel (JSON, URL, base64).
 * A mask has a bounded size, whatever the secrets are, and runs with the same secrets share one.
 */
import { createHash } from 'node:crypto';
import { MASKED_LENGTH_MIN } from '@carillon/domain';
import { FormAutomaton, type Position } from './form-automaton.ts';
import { formGroups } from './secret-forms.ts';

const MASK = Buffer.from('***');
const NOTHING = new Uint8Array(0);
/** Of the masks that are kept for the next run with the same secrets. */
const KEPT_MAX = 100;
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

export class SecretMask {
  readonly automaton = new FormAutomaton();

  private constructor(values: readonly string[]) {
    const known = new Set<string>();
    for (const { length, forms } of formGroups(values)) {
      if (this.automaton.isFull) break;
      if (!this.automaton.hasRoomFor(length)) continue;
      for (const form of forms()) {
        if (known.has(form)) continue;
        known.add(form);
        this.automaton.add(Buffer.from(form));
      }
    }
    this.automaton.link();
  }

  /** Undefined: there is nothing to mask. */
  static of(secrets: readonly string[] | undefined): SecretMask | undefined {
    const values = secrets?.filter(({ length }) => length >= MASKED_LENGTH_MIN) ?? [];
    if (values.length === 0) return undefined;
    const key = createHash('sha256').update(JSON.stringify(values.toSorted())).digest('base64');
    const mask = kept.get(key) ?? new SecretMask(values);
    keep(key, mask);
    return mask;
  }

  /** A text that is complete. */
  text(text: string): string {
    return this.#masked(text, (stream) => stream.end());
  }

  /** A text that was cut by somebody who did not mask it before: its end may be the beginning of a secret. */
  cutText(text: string): string {
    return this.#masked(text, (stream) => stream.cut());
  }

  #masked(text: string, endOf: (stream: MaskedStream) => Uint8Array | undefined): string {
    const masked = new MaskedStream(this);
    const bytes = Buffer.from(text);
    const parts = [masked.push(bytes), endOf(masked)].filter((part) => part !== undefined);
    return masked.found ? Buffer.concat(parts).toString() : text;
  }

  stream(): MaskedStream {
    return new MaskedStream(this);
  }
}

/** The one that was used last stands last. */
const kept = new Map<string, SecretMask>();
let keptBytes = 0;

function keep(key: string, mask: SecretMask): void {
  if (kept.delete(key)) keptBytes -= mask.automaton.bytes;
  kept.set(key, mask);
  keptBytes += mask.automaton.bytes;
  for (const [oldest, { automaton }] of kept) {
    if (kept.size <= KEPT_MAX && keptBytes <= KEPT_BYTES_MAX) break;
    kept.delete(oldest);
    keptBytes -= automaton.bytes;
  }
}

/** Of the bytes that are looked at. A start below 0: its `***` was written with bytes before. */
interface Range {
  readonly start: number;
  end: number;
}

/**
 * Output as it comes, in pieces of any size: what may be the beginning of a secret is kept back until more comes or the end, and
 * nothing else, so that people see a line when it was written.
 */
export class MaskedStream {
  readonly #automaton: FormAutomaton;
  #position: Position;
  /** Never more than the depth of the automaton, so that joining it with what comes costs little. */
  #held: Uint8Array = NOTHING;
  /** Secrets within the held bytes, or right before them: the next bytes may belong to them too. */
  #ranges: Range[] = [];
  /** Whether there was a secret so far. */
  found = false;

  constructor({ automaton }: SecretMask) {
    this.#automaton = automaton;
    this.#position = automaton.start();
  }

  /** What may be shown now; undefined: nothing. */
  push(bytes: Uint8Array): Uint8Array | undefined {
    const from = this.#held.length;
    const all = from === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#automaton.scan(all, from, this.#position, (start, end) => this.#add(start, end));
    return this.#release(all, all.length - this.#automaton.heldAt(this.#position));
  }

  /** The rest. */
  end(): Uint8Array | undefined {
    this.#position = this.#automaton.start();
    return this.#release(this.#held, this.#held.length);
  }

  /** The rest, where the text goes on and is not read: what may be the beginning of a secret is taken for one. */
  cut(): Uint8Array | undefined {
    if (this.#held.length > 0) this.#add(0, this.#held.length);
    return this.end();
  }

  /** Ends grow; what overlaps or touches is one. */
  #add(start: number, end: number): void {
    this.found = true;
    let first = start;
    for (let last = this.#ranges.at(-1); last && last.end >= first; last = this.#ranges.at(-1)) {
      if (last.start <= first) {
        last.end = end;
        return;
      }
      first = Math.min(first, last.start);
      this.#ranges.pop();
    }
    this.#ranges.push({ start: first, end });
  }

  #release(all: Uint8Array, until: number): Uint8Array | undefined {
    const parts: Uint8Array[] = [];
    let at = 0;
    for (const { start, end } of this.#ranges) {
      if (start >= until) break;
      if (start > at) parts.push(all.subarray(at, start));
      if (start >= 0) parts.push(MASK);
      at = Math.min(end, until);
    }
    if (at < until) parts.push(all.subarray(at, until));
    // A copy: the caller may use its bytes again.
    this.#held = until === all.length ? NOTHING : Uint8Array.from(all.subarray(until));
    this.#ranges = this.#ranges
      .filter(({ end }) => end >= until)
      .map(({ start, end }) => ({ start: start - until, end: end - until }));
    if (parts.length === 0) return undefined;
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }
}
