/** The promises of RunLogStore: what is recorded of the logs of attempts. */
import type { NodeId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { RunLogRecord } from '../run-log-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeRunLogStore(makeStorage: MakeStorage): void {
  describe('run log store', () => {
    const stage = useStorageWorld(makeStorage);
    const store = () => stage.world.storage.runLogs;
    const record = (over: Partial<RunLogRecord> = {}): RunLogRecord => ({
      ...{ runId: newId() as RunId, epoch: 1, day: '2030-01-31', nodeId: newId() as NodeId },
      ...{ bytes: 5_000_000_000, lines: 7, firstAtMs: BASE_MS, lastAtMs: BASE_MS + 1 },
      ...{ ended: false, incomplete: false, writer: undefined, ...over },
    });

    it('the logs of a run are read in the order of its attempts, and those of others are not', async () => {
      const runId = newId() as RunId;
      const [first, second] = [
        record({ runId, epoch: 3 }),
        record({ runId, epoch: 12, nodeId: undefined, incomplete: true }),
      ];
      await store().recordLogs([second, record(), first]);
      expect(await store().logsOf(runId)).toEqual([first, second]);
      expect(await store().logsOf(newId() as RunId)).toEqual([]);
    });

    it('what is recorded later of an attempt replaces what was known of it', async () => {
      const begun = record();
      const ended = { ...begun, bytes: 9, lines: 2, lastAtMs: BASE_MS + 50, ended: true };
      await store().recordLogs([begun]);
      await store().recordLogs([ended]);
      expect(await store().logsOf(begun.runId)).toEqual([ended]);
      await store().recordLogs([]);
    });

    it('what several servers recorded of one attempt stands beside each other, in the order in which they began', async () => {
      const runId = newId() as RunId;
      const [own, shared, early] = [
        record({ runId, firstAtMs: BASE_MS + 7 }),
        record({ runId, firstAtMs: BASE_MS + 9, nodeId: undefined, writer: newId() as NodeId }),
        record({ runId, firstAtMs: BASE_MS + 5, nodeId: undefined, writer: newId() as NodeId }),
      ];
      const before = record({ runId, epoch: 0, firstAtMs: BASE_MS + 20 });
      await store().recordLogs([shared, before]);
      await store().recordLogs([own, early]);
      const ended = { ...own, bytes: 9, ended: true };
      await store().recordLogs([ended]);
      expect(await store().logsOf(runId)).toEqual([before, early, ended, shared]);
    });

    it('what a server has not ended is read page by page, and nothing of others', async () => {
      const [one, other] = [newId() as NodeId, newId() as NodeId];
      const runs = [1, 2, 3].map(() => newId() as RunId).sort();
      const left = runs.map((runId, i) =>
        record(i === 1 ? { runId, nodeId: undefined, writer: one } : { runId, nodeId: one }),
      );
      await store().recordLogs([...left, record({ nodeId: other }), record({ nodeId: one, ended: true })]);
      const page = (after: RunId | undefined, limit: number) => store().openLogs({ of: one, after, limit });
      expect(await page(undefined, 2)).toEqual(left.slice(0, 2));
      expect(await page(runs[1], 2)).toEqual(left.slice(2));
      await store().recordLogs(left.map((each) => ({ ...each, ended: true })));
      expect(await page(undefined, 2)).toEqual([]);
    });

    it('old days are forgotten, the others are not', async () => {
      const [old, kept] = [record({ day: '2029-12-31' }), record({ day: '2030-01-01' })];
      await store().recordLogs([old, kept]);
      expect(await store().dropLogs({ beforeDay: '2030-01-01' })).toBe(1);
      expect(await store().dropLogs({ beforeDay: '2030-01-01' })).toBe(0);
      expect(await store().logsOf(old.runId)).toEqual([]);
      expect(await store().logsOf(kept.runId)).toEqual([kept]);
    });
  });
}
