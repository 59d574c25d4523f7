/** A secondary index: which values belong to a key, in the order they came, so that a simulation replays exactly. */
export class Groups<Key, Value> {
  readonly #groups = new Map<Key, Set<Value>>();

  add(key: Key, value: Value): void {
    const group = this.#groups.get(key);
    if (group) group.add(value);
    else this.#groups.set(key, new Set([value]));
  }

  remove(key: Key, value: Value): void {
    const group = this.#groups.get(key);
    if (!group?.delete(value)) return;
    if (group.size === 0) this.#groups.delete(key);
  }

  has(key: Key): boolean {
    return this.#groups.has(key);
  }

  /** A copy, so that the caller may change the group while walking it. */
  of(key: Key): Value[] {
    return [...(this.#groups.get(key) ?? [])];
  }
}
