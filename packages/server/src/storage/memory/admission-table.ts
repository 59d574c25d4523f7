/** The table `admissions`: the numbered slots of jobs, and which run holds which. No two runs hold the same slot (SCHED-2). */
import type { JobId, RunId } from '@carillon/domain';

export class AdmissionTable {
  readonly #slots = new Map<JobId, Map<number, RunId>>();

  count(jobId: JobId): number {
    return this.#slots.get(jobId)?.size ?? 0;
  }

  has(jobId: JobId, runId: RunId): boolean {
    return [...(this.#slots.get(jobId)?.values() ?? [])].includes(runId);
  }

  /** The lowest free slot; false when as many as the limit are held, above it or below. */
  take(jobId: JobId, runId: RunId, limit: number): boolean {
    const slots = this.#slots.get(jobId) ?? new Map<number, RunId>();
    if (slots.size >= limit) return false;
    let slot = 1;
    while (slots.has(slot)) slot += 1;
    this.#slots.set(jobId, slots.set(slot, runId));
    return true;
  }

  /** False when it held none. */
  free(jobId: JobId, runId: RunId): boolean {
    const slots = this.#slots.get(jobId);
    for (const [slot, holder] of slots ?? []) {
      if (holder !== runId) continue;
      slots!.delete(slot);
      if (slots!.size === 0) this.#slots.delete(jobId);
      return true;
    }
    return false;
  }

  /** In the order of their slots. */
  ofJob(jobId: JobId): RunId[] {
    return [...(this.#slots.get(jobId) ?? [])].sort(([a], [b]) => a - b).map(([, runId]) => runId);
  }

  *all(): Iterable<{ jobId: JobId; runId: RunId }> {
    for (const [jobId, slots] of this.#slots) for (const runId of slots.values()) yield { jobId, runId };
  }
}
