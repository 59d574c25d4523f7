/**
 * Counts how often each job ran, and decides whether a run may be called correct at all. No speed is reported for a
 * system that lost a job, ran one twice, ran one nobody submitted, or did not record what it ran.
 */
import type { BenchJob, System } from './system.ts';

export class RunLedger {
  readonly #runsById: Map<string, number>;
  #unknown = 0;

  constructor(jobs: readonly BenchJob[]) {
    this.#runsById = new Map(jobs.map(({ id }) => [id, 0]));
  }

  ran(id: string): void {
    const runs = this.#runsById.get(id);
    if (runs === undefined) this.#unknown += 1;
    else this.#runsById.set(id, runs + 1);
  }

  async assertAllRanOnceAndAreRecorded(system: System): Promise<void> {
    const faults: string[] = [];
    let lost = 0;
    let repeated = 0;
    for (const runs of this.#runsById.values()) {
      if (runs === 0) lost += 1;
      if (runs > 1) repeated += 1;
    }
    if (lost > 0) faults.push(`${lost} never ran`);
    if (repeated > 0) faults.push(`${repeated} ran more than once`);
    if (this.#unknown > 0) faults.push(`${this.#unknown} runs of ids nobody submitted`);

    const unfinished = await system.countUnfinished();
    if (unfinished > 0) faults.push(`${unfinished} still unfinished in the store`);
    if (system.keepsHistory) {
      const history = await system.countHistory();
      if (history !== this.#runsById.size)
        faults.push(`${history} history rows for ${this.#runsById.size} jobs`);
    }
    if (faults.length > 0) throw new Error(`${system.name} is not correct: ${faults.join('; ')}`);
  }
}
