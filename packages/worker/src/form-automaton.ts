/**
 * Finds any of many forms in bytes that come in pieces, reading every byte once (Aho and Corasick). It has a bounded size: of a form
 * longer than PREFIX_BYTES only its beginning is in the tree, and what follows is compared with the form itself, as far as the two agree.
 */
const ROOT = 0;
const NONE = -1;
/** What begins like a form for so long is one, and is found as far as it goes on like it. Also the most that is ever kept back. */
export const PREFIX_BYTES = 256;
/** Room for 64 KiB of values, and the lines of them, as they are; what the usual few and small ones need is far less. */
export const NODES_MAX = 2 * 64 * 1024 + 1;
/** Of all forms that are longer than their beginning in the tree. */
export const LONG_BYTES_MAX = 1024 * 1024;
/** A form that holds its own beginning may be followed from several places at once. */
const FOLLOWED_MAX = 16;
/** byte, child, sibling, depth, fail and match. */
const BYTES_PER_NODE = 17;

/** Long forms that begin alike, sorted: those that agree with what was read are always side by side. */
interface Followed {
  readonly forms: readonly Uint8Array[];
  from: number;
  until: number;
  /** So many bytes agree. */
  depth: number;
}

/** Where a reader is; each has its own. */
export interface Position {
  node: number;
  followed: Followed[];
}

export class FormAutomaton {
  /** The tree, one entry per node: children are a list, for nearly every node has one at most. */
  #byte = new Uint8Array(1024);
  #child = new Int32Array(1024).fill(NONE);
  #sibling = new Int32Array(1024).fill(NONE);
  #depth = new Uint16Array(1024);
  /** The node of the longest proper suffix that is in the tree. */
  #fail = new Int32Array(1024);
  /** The length of the longest form that ends here; 0: none does. */
  #match = new Uint16Array(1024);
  #nodes = 1;
  #isFull = false;
  readonly #first = new Int32Array(256).fill(ROOT);
  /** By the node at which their beginning ends. */
  readonly #long = new Map<number, Uint8Array[]>();
  #longBytes = 0;

  /** No more forms get in. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get bytes(): number {
    return this.#nodes * BYTES_PER_NODE + this.#longBytes;
  }

  hasRoomFor(length: number): boolean {
    return !this.#isFull && (length <= PREFIX_BYTES || this.#longBytes + length <= LONG_BYTES_MAX);
  }

  /** Leaves it out when there is no room. */
  add(form: Uint8Array): void {
    if (!this.hasRoomFor(form.length)) return;
    const length = Math.min(form.length, PREFIX_BYTES);
    this.#isFull = this.#nodes + length > NODES_MAX;
    if (this.#isFull) return;
    let node = ROOT;
    for (let i = 0; i < length; i += 1) {
      const child = this.#next(node, form[i]!);
      node = child === NONE ? this.#grow(node, form[i]!) : child;
    }
    this.#match[node] = length;
    if (form.length === length) return;
    const alike = this.#long.get(node) ?? [];
    this.#long.set(node, alike);
    alike.push(form);
    this.#longBytes += form.length;
  }

  /** After the last form, and before the first byte. */
  link(): void {
    for (const forms of this.#long.values()) forms.sort(Buffer.compare);
    const nodes = this.#nodes;
    [this.#byte, this.#depth, this.#match] = [
      this.#byte.slice(0, nodes),
      this.#depth.slice(0, nodes),
      this.#match.slice(0, nodes),
    ];
    [this.#child, this.#sibling, this.#fail] = [
      this.#child.slice(0, nodes),
      this.#sibling.slice(0, nodes),
      this.#fail.slice(0, nodes),
    ];
    const [byteOf, childOf, siblingOf, fail, match] = [
      this.#byte,
      this.#child,
      this.#sibling,
      this.#fail,
      this.#match,
    ];
    // Breadth first: the suffix of a node is nearer to the root.
    const queue = new Int32Array(nodes);
    let queued = 0;
    for (let node = childOf[ROOT]!; node !== NONE; node = siblingOf[node]!) {
      this.#first[byteOf[node]!] = node;
      queue[queued++] = node;
    }
    for (let at = 0; at < queued; at += 1) {
      const node = queue[at]!;
      for (let child = childOf[node]!; child !== NONE; child = siblingOf[child]!) {
        const suffix = this.#step(fail[node]!, byteOf[child]!);
        fail[child] = suffix;
        match[child] ||= match[suffix]!;
        queue[queued++] = child;
      }
    }
  }

  start(): Position {
    return { node: ROOT, followed: [] };
  }

  /** Follows the bytes of `bytes` from `from` on, and tells of all that is part of a form. Ends never get smaller. */
  scan(
    bytes: Uint8Array,
    from: number,
    position: Position,
    onMatch: (start: number, end: number) => void,
  ): void {
    let { node } = position;
    for (let i = from; i < bytes.length; i += 1) {
      const byte = bytes[i]!;
      node = node === ROOT ? this.#first[byte]! : this.#step(node, byte);
      if (position.followed.length > 0 && follow(position, byte)) onMatch(i, i + 1);
      const length = this.#match[node]!;
      if (length === 0) continue;
      onMatch(i + 1 - length, i + 1);
      const forms = length === PREFIX_BYTES ? this.#long.get(node) : undefined;
      if (forms && position.followed.length < FOLLOWED_MAX)
        position.followed.push({ forms, from: 0, until: forms.length, depth: PREFIX_BYTES });
    }
    position.node = node;
  }

  /** So many of the last bytes may be the beginning of a form. */
  heldAt({ node }: Position): number {
    return this.#depth[node]!;
  }

  #step(begun: number, byte: number): number {
    const [bytes, children, siblings] = [this.#byte, this.#child, this.#sibling];
    for (let node = begun; node !== ROOT; node = this.#fail[node]!) {
      let child = children[node]!;
      while (child !== NONE && bytes[child] !== byte) child = siblings[child]!;
      if (child !== NONE) return child;
    }
    return this.#first[byte]!;
  }

  #next(node: number, byte: number): number {
    let child = this.#child[node]!;
    while (child !== NONE && this.#byte[child] !== byte) child = this.#sibling[child]!;
    return child;
  }

  #grow(parent: number, byte: number): number {
    if (this.#nodes === this.#byte.length) this.#double();
    const node = this.#nodes++;
    this.#byte[node] = byte;
    this.#sibling[node] = this.#child[parent]!;
    this.#child[parent] = node;
    this.#depth[node] = this.#depth[parent]! + 1;
    return node;
  }

  #double(): void {
    const length = 2 * this.#byte.length;
    const numbers = (old: Int32Array<ArrayBuffer>, rest: number) => {
      const grown = new Int32Array(length).fill(rest, old.length);
      grown.set(old);
      return grown;
    };
    const shorts = (old: Uint16Array<ArrayBuffer>) => {
      const grown = new Uint16Array(length);
      grown.set(old);
      return grown;
    };
    const bytes = new Uint8Array(length);
    bytes.set(this.#byte);
    this.#byte = bytes;
    this.#child = numbers(this.#child, NONE);
    this.#sibling = numbers(this.#sibling, NONE);
    this.#fail = numbers(this.#fail, ROOT);
    this.#depth = shorts(this.#depth);
    this.#match = shorts(this.#match);
  }
}

/** Whether the byte goes on like a long form. */
function follow(position: Position, byte: number): boolean {
  const { followed } = position;
  let kept = 0;
  for (const one of followed) if (goesOn(one, byte)) followed[kept++] = one;
  followed.length = kept;
  return kept > 0;
}

function goesOn(followed: Followed, byte: number): boolean {
  const { forms, depth, until } = followed;
  let { from } = followed;
  // Those that end here come first.
  while (from < until && forms[from]!.length === depth) from += 1;
  followed.from = from;
  if (from === until) return false;
  followed.depth += 1;
  if (forms[from]![depth] === byte && forms[until - 1]![depth] === byte) return true;
  followed.from = firstWhere(from, until, (at) => forms[at]![depth]! >= byte);
  followed.until = firstWhere(followed.from, until, (at) => forms[at]![depth]! > byte);
  return followed.from < followed.until;
}

/** Of a condition that holds from some place on. */
function firstWhere(from: number, until: number, holds: (at: number) => boolean): number {
  let [low, high] = [from, until];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
