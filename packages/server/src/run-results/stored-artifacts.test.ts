/** Files of runs of workers in both shapes, over real streams, in a store of logs, and read as the interface reads them. */
import { ARTIFACT_INDEX_BYTES_MAX, type NodeId, writeArtifactIndex } from '@carillon/domain';
import type { Handler, RunChannel } from '@carillon/worker';
import { SILENT_CHANNEL } from '@carillon/worker';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import type { LogStore } from '../log-store/log-store.ts';
import { dayOf } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { RunLogs } from '../run-logs/run-logs.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { MemoryRunLogStore } from '../storage/memory/memory-run-log-store.ts';
import { SHAPES, type Shape, WorkerHomeFixture } from '../worker-home/worker-home.fixture.ts';
import { StoredArtifacts } from './stored-artifacts.ts';

const SOON = { withinMs: 60_000 };
const NODE = newId<NodeId>();
const BYTES_MAX = 2_000_000;
const PART_BYTES = 256 * 1_024;
let fixture: WorkerHomeFixture | undefined;
afterEach(() => fixture?.close());

/** A file of so many bytes, in parts. */
function fileOf(bytes: number) {
  const index = writeArtifactIndex({ keptAtMs: 5, files: [{ name: 'a.bin', offset: 0, bytes }] });
  const all = Buffer.concat([Buffer.alloc(bytes, 'é'), index]);
  return async function* parts() {
    for (let at = 0; at < all.length; at += PART_BYTES) yield all.subarray(at, at + PART_BYTES);
  };
}

async function open(shape: Shape, store: LogStore, nodeId = NODE) {
  const records = new MemoryRunLogStore();
  const said: string[] = [];
  // Its line is what the record of the log comes from.
  const output: RunChannel['output'] = (run, { atMs, bytes }) => {
    said.push(Buffer.from(bytes).toString());
    void records.recordLogs([
      {
        ...{ runId: run.runId, epoch: run.epoch, day: dayOf(atMs), bytes: bytes.length, lines: 1 },
        ...(store.isShared ? { nodeId: undefined, writer: nodeId } : { nodeId }),
        ...{ firstAtMs: atMs, lastAtMs: atMs, ended: false, incomplete: false },
      },
    ]);
    return undefined;
  };
  const artifacts = new StoredArtifacts({
    ...{ store, nodeId, bytesMax: BYTES_MAX, output, now: () => fixture!.clock.now() },
  });
  const handler: Handler = async ({ artifacts: kept, payload }) => {
    try {
      await kept!.save(fileOf(Number(payload.count)));
      return { bytesMax: kept!.bytesMax };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  };
  fixture = await WorkerHomeFixture.open({ channel: SILENT_CHANNEL, artifacts });
  await fixture.start(shape, { files: handler });
  const started = fixture;
  await eventually(() => expect(started.freeSlots()).toEqual([4]), SOON);
  const logs = new RunLogs({ records, store, nodeId });
  const runs = async (count: number, bytes: number) => {
    const { jobs } = await started.hand('files', { count, payload: JSON.stringify({ count: bytes }) });
    return eventually(async () => {
      const views = (
        await Promise.all(jobs.map((job) => started.world.runsOf(job.jobId, started.clock.now())))
      ).flat();
      expect(views.map(({ status }) => status)).toEqual(jobs.map(() => 'SUCCESS'));
      return views;
    }, SOON);
  };
  return { runs, logs, said };
}

describe.each(SHAPES)('a worker %s', (shape) => {
  test.each([false, true])(
    'has files kept whole, of several runs at a time; shared store: %s',
    async (isShared) => {
      const store = Object.assign(new MemoryLogStore(), { isShared });
      const { runs, logs, said } = await open(shape, store);
      for (const view of await runs(3, 700_000)) {
        expect(JSON.parse(view.result!)).toEqual({ bytesMax: BYTES_MAX });
        const [file, ...others] = await logs.artifacts(view.runId, [view]);
        expect(others).toEqual([]);
        expect(file).toMatchObject({ name: 'a.bin', bytes: 700_000, attempt: 1, keptAtMs: 5 });
        const read = await file!.content.read(0, 700_000);
        expect(Buffer.from(read).equals(Buffer.alloc(700_000, 'é'))).toBe(true);
      }
      expect(said).toHaveLength(3);
      expect(said[0]).toMatch(/^The files of this attempt are kept \(\d+ bytes\)\.\n$/);
    },
  );

  test('is told when files are larger than this server takes', async () => {
    const { runs, logs } = await open(shape, new MemoryLogStore());
    const [view] = await runs(1, BYTES_MAX + ARTIFACT_INDEX_BYTES_MAX + 1);
    expect(JSON.parse(view!.result!)).toEqual({
      refused: `this server takes files of up to ${BYTES_MAX} bytes in all`,
    });
    expect(await logs.artifacts(view!.runId, [view!])).toEqual([]);
  });

  test('is told why a store does not take them', async () => {
    const store = new MemoryLogStore();
    store.write = () => Promise.reject(new Error('the disk is full'));
    const { runs } = await open(shape, store);
    const [view] = await runs(1, 10);
    expect(JSON.parse(view!.result!)).toEqual({ refused: 'the disk is full' });
  });
});
