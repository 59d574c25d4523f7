/** The table `admissions`: the numbered places of jobs, and which run holds which. No two runs hold the same place. */
import type { JobId, RunId } from '@carillon/domain';

export class AdmissionTable {
  readonly #places = new Map<JobId, Map<number, RunId>>();

  count(jobId: JobId): number {
    return this.#places.get(jobId)?.size ?? 0;
  }

  has(jobId: JobId, runId: RunId): boolean {
    return [...(this.#places.get(jobId)?.values() ?? [])].includes(runId);
  }

  /** The lowest free place; false when as many as the limit are held, above it or below. */
  take(jobId: JobId, runId: RunId, limit: number): boolean {
    const places = this.#places.get(jobId) ?? new Map<number, RunId>();
    if (places.size >= limit) return false;
    let slot = 1;
    while (places.has(slot)) slot += 1;
    this.#places.set(jobId, places.set(slot, runId));
    return true;
  }

  /** False when it held none. */
  free(jobId: JobId, runId: RunId): boolean {
    const places = this.#places.get(jobId);
    for (const [slot, holder] of places ?? []) {
      if (holder !== runId) continue;
      places!.delete(slot);
      if (places!.size === 0) this.#places.delete(jobId);
      return true;
    }
    return false;
  }

  *all(): Iterable<{ jobId: JobId; runId: RunId }> {
    for (const [jobId, places] of this.#places) for (const runId of places.values()) yield { jobId, runId };
  }
}
