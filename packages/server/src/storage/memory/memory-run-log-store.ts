/** Which attempts have said something, in memory. */
import type { RunId } from '@carillon/domain';
import type { RunLogRecord, RunLogStore } from '../run-log-store.ts';

export class MemoryRunLogStore implements RunLogStore {
  readonly #records = new Map<string, RunLogRecord>();

  async recordLogs(records: readonly RunLogRecord[]): Promise<void> {
    for (const record of records) this.#records.set(`${record.runId} ${record.epoch}`, record);
  }

  async logsOf(runId: RunId): Promise<RunLogRecord[]> {
    return [...this.#records.values()]
      .filter((record) => record.runId === runId)
      .sort((a, b) => a.epoch - b.epoch);
  }

  async dropLogs({ beforeDay }: { readonly beforeDay: string }): Promise<number> {
    const old = [...this.#records].filter(([, { day }]) => day < beforeDay);
    for (const [key] of old) this.#records.delete(key);
    return old.length;
  }
}
