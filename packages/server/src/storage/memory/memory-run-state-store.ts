/** Checkpoints and progress in memory. */
import type { RunId } from '@carillon/domain';
import type { ProgressReport, RunStateStore, SavedCheckpoint, StoredCheckpoint } from '../run-state-store.ts';
import type { MemoryState } from './memory-state.ts';
import { leasedView } from './run-views.ts';

export class MemoryRunStateStore implements RunStateStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async saveCheckpoints(saved: readonly SavedCheckpoint[], savedAtMs: number): Promise<boolean[]> {
    const { checkpoints } = this.#state;
    return saved.map(({ data, sequence, ...ref }) => {
      const leased = this.#state.leases.find(ref);
      if (!leased) return false;
      const { runId, epoch } = leased.run;
      const last = checkpoints.get(runId);
      if (last?.epoch === epoch && last.sequence >= sequence) return true;
      checkpoints.set(runId, { data, bytes: Buffer.byteLength(data), epoch, savedAtMs, sequence });
      return true;
    });
  }

  async checkpoint(runId: RunId): Promise<StoredCheckpoint | undefined> {
    const found = this.#state.checkpoints.get(runId);
    if (!found) return undefined;
    const { sequence, ...checkpoint } = found;
    return checkpoint;
  }

  async showProgress(reports: readonly ProgressReport[], nowMs: number): Promise<boolean[]> {
    return reports.map(({ percent, message, ...ref }) => {
      const leased = this.#state.leases.find(ref);
      if (!leased?.shown) return false;
      leased.progress = { percent, message };
      leased.shown = { ...leased.shown, atMs: nowMs };
      this.#state.events.runProgressed(leasedView(leased));
      return true;
    });
  }
}
