/** Which attempts have said something, in memory. */
import type { NodeId, RunId } from '@carillon/domain';
import type { RunLogRecord, RunLogStore } from '../run-log-store.ts';

export class MemoryRunLogStore implements RunLogStore {
  readonly #records = new Map<string, RunLogRecord>();

  async recordLogs(records: readonly RunLogRecord[]): Promise<void> {
    for (const record of records)
      this.#records.set(`${record.runId} ${record.epoch} ${serverOf(record)}`, record);
  }

  async logsOf(runId: RunId): Promise<RunLogRecord[]> {
    return [...this.#records.values()]
      .filter((record) => record.runId === runId)
      .sort(
        (a, b) => a.epoch - b.epoch || a.firstAtMs - b.firstAtMs || (serverOf(a)! < serverOf(b)! ? -1 : 1),
      );
  }

  async openLogs({
    of,
    after = '' as RunId,
    limit,
  }: {
    readonly of: NodeId;
    readonly after: RunId | undefined;
    readonly limit: number;
  }): Promise<RunLogRecord[]> {
    return [...this.#records.values()]
      .filter((record) => !record.ended && serverOf(record) === of && record.runId > after)
      .sort((a, b) => (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : a.epoch - b.epoch))
      .slice(0, limit);
  }

  async dropLogs({ beforeDay }: { readonly beforeDay: string }): Promise<number> {
    const old = [...this.#records].filter(([, { day }]) => day < beforeDay);
    for (const [key] of old) this.#records.delete(key);
    return old.length;
  }
}

function serverOf({ nodeId, writer }: RunLogRecord): NodeId | undefined {
  return nodeId ?? writer;
}
