/**
 * Replaces secrets by `***` wherever a run says them: as they are, and in the forms in which they usually travel (JSON, URL, base64).
 * All forms are looked for at once, by an automaton (Aho and Corasick) that reads every byte once, however many forms there are.
 */
import { MASKED_LENGTH_MIN } from '@carillon/domain';

const MASK = Buffer.from('***');
const NOTHING = new Uint8Array(0);
const ROOT = 0;
const NONE = -1;

export class SecretMask {
  /** The tree of all forms, one entry per node: children are a list, for nearly every node has one at most. */
  readonly #byte: number[] = [0];
  readonly #child: number[] = [NONE];
  readonly #sibling: number[] = [NONE];
  readonly #depth: number[] = [0];
  /** The node of the longest proper suffix that is in the tree. */
  readonly #fail: number[] = [ROOT];
  /** The length of the longest form that ends here; 0: none does. */
  readonly #match: number[] = [0];
  readonly #first = new Int32Array(256).fill(ROOT);

  private constructor(forms: Iterable<string>) {
    for (const form of forms) this.#add(Buffer.from(form));
    for (let node = this.#child[ROOT]!; node !== NONE; node = this.#sibling[node]!)
      this.#first[this.#byte[node]!] = node;
    this.#link();
  }

  /** Undefined: there is nothing to mask. */
  static of(secrets: readonly string[] | undefined): SecretMask | undefined {
    const values = secrets?.filter(({ length }) => length >= MASKED_LENGTH_MIN) ?? [];
    return values.length === 0 ? undefined : new SecretMask(new Set(values.flatMap(formsOf)));
  }

  /** A text that is complete. */
  text(text: string): string {
    const masked = new MaskedStream(this);
    const bytes = Buffer.from(text);
    const parts = [masked.push(bytes), masked.end()].filter((part) => part !== undefined);
    return masked.found ? Buffer.concat(parts).toString() : text;
  }

  stream(): MaskedStream {
    return new MaskedStream(this);
  }

  /** Follows the bytes of `bytes` from `from` on; tells of every form that ends there, and answers the last node. */
  scan(
    bytes: Uint8Array,
    { node: begun, from }: { readonly node: number; readonly from: number },
    onMatch: (start: number, end: number) => void,
  ): number {
    const first = this.#first;
    let node = begun;
    for (let i = from; i < bytes.length; i += 1) {
      const byte = bytes[i]!;
      if (node === ROOT) node = first[byte]!;
      else {
        let next = this.#next(node, byte);
        while (next === NONE && node !== ROOT) {
          node = this.#fail[node]!;
          next = node === ROOT ? first[byte]! : this.#next(node, byte);
        }
        node = next;
      }
      const length = this.#match[node]!;
      if (length > 0) onMatch(i + 1 - length, i + 1);
    }
    return node;
  }

  /** So many of the last bytes may be the beginning of a form. */
  heldAt(node: number): number {
    return this.#depth[node]!;
  }

  #next(node: number, byte: number): number {
    let child = this.#child[node]!;
    while (child !== NONE && this.#byte[child] !== byte) child = this.#sibling[child]!;
    return child;
  }

  #add(form: Uint8Array): void {
    let node = ROOT;
    for (const byte of form) {
      let child = this.#next(node, byte);
      if (child === NONE) {
        child = this.#byte.push(byte) - 1;
        this.#sibling.push(this.#child[node]!);
        this.#child[node] = child;
        this.#child.push(NONE);
        this.#depth.push(this.#depth[node]! + 1);
        this.#fail.push(ROOT);
        this.#match.push(0);
      }
      node = child;
    }
    this.#match[node] = form.length;
  }

  /** Breadth first: the suffix of a node is nearer to the root. */
  #link(): void {
    let level = this.#childrenOf(ROOT);
    while (level.length > 0) {
      const next: number[] = [];
      for (const node of level) {
        for (const child of this.#childrenOf(node)) {
          const byte = this.#byte[child]!;
          let suffix = this.#fail[node]!;
          let found = this.#next(suffix, byte);
          while (found === NONE && suffix !== ROOT) {
            suffix = this.#fail[suffix]!;
            found = this.#next(suffix, byte);
          }
          this.#fail[child] = found === NONE ? ROOT : found;
          this.#match[child] ||= this.#match[this.#fail[child]!]!;
          next.push(child);
        }
      }
      level = next;
    }
  }

  #childrenOf(node: number): number[] {
    const children: number[] = [];
    for (let child = this.#child[node]!; child !== NONE; child = this.#sibling[child]!) children.push(child);
    return children;
  }
}

/** Of the bytes that are looked at. A start below 0: its `***` was written with bytes before. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Output as it comes, in pieces of any size: what may be the beginning of a secret is kept back until more comes or the end, and
 * nothing else, so that people see a line when it was written.
 */
export class MaskedStream {
  readonly #mask: SecretMask;
  #node = ROOT;
  #held: Uint8Array = NOTHING;
  /** Secrets within the held bytes: the next bytes may belong to them too. */
  #ranges: Range[] = [];
  /** Whether there was a secret so far. */
  found = false;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** What may be shown now; undefined: nothing. */
  push(bytes: Uint8Array): Uint8Array | undefined {
    const from = this.#held.length;
    const all = from === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#node = this.#mask.scan(all, { node: this.#node, from }, (start, end) => this.#add(start, end));
    return this.#release(all, all.length - this.#mask.heldAt(this.#node));
  }

  /** The rest. */
  end(): Uint8Array | undefined {
    this.#node = ROOT;
    return this.#release(this.#held, this.#held.length);
  }

  /** Ends grow; what overlaps is one. */
  #add(start: number, end: number): void {
    let first = start;
    for (let last = this.#ranges.at(-1); last && last.end >= first; last = this.#ranges.at(-1)) {
      first = Math.min(first, last.start);
      this.#ranges.pop();
    }
    this.#ranges.push({ start: first, end });
    this.found = true;
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
      .filter(({ end }) => end > until)
      .map(({ start, end }) => ({ start: start - until, end: end - until }));
    if (parts.length === 0) return undefined;
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }
}

/** The value, its lines, and both as JSON, in a URL and in base64. */
function formsOf(value: string): string[] {
  // Programs print a key of many lines line by line.
  const lines = value.split(/\r?\n/).filter(({ length }) => length >= MASKED_LENGTH_MIN);
  const texts = [...new Set([value, ...lines])];
  return texts.flatMap((text) => [...jsonForms(text), ...urlForms(text), ...base64Forms(text)]);
}

/** As it is, within JSON, and within JSON that is a string of JSON. */
function jsonForms(text: string): string[] {
  const inJson = (form: string) => JSON.stringify(form).slice(1, -1);
  const once = inJson(text);
  const ascii = once.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [text, once, ascii, inJson(once), once.replaceAll('/', '\\/')];
}

function urlForms(text: string): string[] {
  const encoded = encodeURIComponent(text.toWellFormed());
  const strict = encoded.replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const forms = [
    encoded,
    strict,
    encodeURI(text.toWellFormed()),
    encoded.replaceAll('%2F', '/'),
    strict.replaceAll('%20', '+'),
  ];
  return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

const BASE64_BITS = 6;

/** At each of the three offsets that it may have within what is encoded, without the characters that its neighbours change. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const from = Math.ceil((offset * 8) / BASE64_BITS);
    const until = Math.floor(((offset + bytes.length) * 8) / BASE64_BITS);
    const form = encoded.slice(from, until);
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
