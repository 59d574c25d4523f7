/** A binary min-heap: push and pop in O(log n), the smallest on top. */
export class MinHeap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let hole = items.length;
    items.push(item);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (this.#compare(items[parent]!, item) <= 0) break;
      items[hole] = items[parent]!;
      hole = parent;
    }
    items[hole] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return top;
    let hole = 0;
    for (let child = 1; child < items.length; child = hole * 2 + 1) {
      if (child + 1 < items.length && this.#compare(items[child + 1]!, items[child]!) < 0) child += 1;
      if (this.#compare(last, items[child]!) <= 0) break;
      items[hole] = items[child]!;
      hole = child;
    }
    items[hole] = last;
    return top;
  }

  /** Keeps only what passes; rebuilds in O(n log n). */
  retain(keep: (item: T) => boolean): void {
    const kept = this.#items.filter(keep);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }
}
