/** Bytes that come in pieces, in one piece of memory that grows by doubling: however small they are, it takes at most about twice as much as they. */

const BYTES_MIN = 256;

export class GrowingBytes {
  #buffer: Buffer = Buffer.allocUnsafeSlow(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copied: whoever gives them may use their memory again. */
  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, length, 2 * this.#length));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  /** All of them, in the same memory. */
  view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
