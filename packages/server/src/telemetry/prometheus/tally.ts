/**
 * A histogram that costs a comparison or two per value: buckets are plain numbers, found by halving. Put into words only when
 * somebody collects.
 */
interface Line {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class Tally {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  /** bounds: upper ends of the buckets, growing. */
  constructor(options: { name: string; help: string; bounds: readonly number[] }) {
    this.#name = options.name;
    this.#help = options.help;
    this.#bounds = options.bounds;
    this.#counts = new Float64Array(options.bounds.length + 1);
  }

  get name(): string {
    return this.#name;
  }

  add(value: number): void {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#bounds[middle]! < value) low = middle + 1;
      else high = middle;
    }
    this.#counts[low]! += 1;
    this.#sum += value;
  }

  /** The shape that the registry writes out. */
  async get(): Promise<{ name: string; help: string; type: 'histogram'; aggregator: 'sum'; values: Line[] }> {
    const values: Line[] = [];
    let total = 0;
    this.#counts.forEach((count, i) => {
      total += count;
      const le = this.#bounds[i] ?? '+Inf';
      values.push({ metricName: `${this.#name}_bucket`, labels: { le }, value: total });
    });
    values.push({ metricName: `${this.#name}_sum`, labels: {}, value: this.#sum });
    values.push({ metricName: `${this.#name}_count`, labels: {}, value: total });
    return { name: this.#name, help: this.#help, type: 'histogram', aggregator: 'sum', values };
  }

  reset(): void {
    this.#counts.fill(0);
    this.#sum = 0;
  }
}
