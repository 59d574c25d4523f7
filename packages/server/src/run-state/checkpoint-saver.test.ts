import type { LeaseId } from '@carillon/domain';
import { silentLog, systemRandom } from '@carillon/foundation';
import type { HeldRun } from '@carillon/worker';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RunStateStore, SavedCheckpoint } from '../storage/run-state-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { CheckpointSaver } from './checkpoint-saver.ts';

const PATIENCE_MS = 15_000;

let stage: RoleStage;
let batches: (readonly SavedCheckpoint[])[];
let isDown: boolean;
/** A value that fails the statement it is in. */
let poison: string | undefined;
/** A value whose lease is locked. */
let locked: string | undefined;
let gate: Promise<void>;
let saver: CheckpointSaver;

beforeEach(async () => {
  stage = await RoleStage.set();
  [batches, isDown, gate, poison, locked] = [[], false, Promise.resolve(), undefined, undefined];
  const { runState } = stage.storage;
  const store: RunStateStore = {
    checkpoint: (runId) => runState.checkpoint(runId),
    showProgress: (reports, nowMs) => runState.showProgress(reports, nowMs),
    async saveCheckpoints(saved, nowMs) {
      batches.push(saved);
      await gate;
      if (isDown) throw new StorageUnavailable('away');
      if (saved.some(({ data }) => data === locked)) throw new StorageTimeout('locked');
      if (saved.some(({ data }) => data === poison)) throw new Error('out of range');
      return runState.saveCheckpoints(saved, nowMs);
    },
  };
  saver = new CheckpointSaver({
    ...{ store, clock: stage.clock, random: systemRandom, log: silentLog, patienceMs: PATIENCE_MS },
  });
});

async function held(count = 1): Promise<HeldRun[]> {
  const jobs = await Promise.all(Array.from({ length: count }, () => stage.world.oneOff()));
  const pending = await Promise.all(jobs.map(({ job }) => stage.world.pendingRuns(job)));
  return [...(await stage.world.claim(pending.flat())).runs];
}

const saved = async ({ runId }: HeldRun) => (await stage.storage.runState.checkpoint(runId))?.data;

describe('checkpoints', () => {
  test('that come together are one statement', async () => {
    const runs = await held(5);
    await Promise.all(runs.map((run, i) => saver.save(run, String(i))));
    expect(batches.map((batch) => batch.length)).toEqual([5]);
    expect(await Promise.all(runs.map(saved))).toEqual(['0', '1', '2', '3', '4']);
  });

  test('of one run follow each other: the last that was given is kept', async () => {
    const [run] = await held();
    const release = Promise.withResolvers<void>();
    gate = release.promise;
    const saves = [1, 2, 3].map((value) => saver.save(run!, String(value)));
    await turns();
    expect(batches).toHaveLength(1);
    release.resolve();
    await Promise.all(saves);
    expect(batches.map((batch) => batch.map(({ data }) => data))).toEqual([['1'], ['2'], ['3']]);
    expect(await saved(run!)).toBe('3');
  });

  test('are saved once the storage is back (hazard 28)', async () => {
    const [run] = await held();
    isDown = true;
    const saving = saver.save(run!, '1');
    await turns();
    isDown = false;
    await stage.advance(5_000);
    await saving;
    expect(await saved(run!)).toBe('1');
  });

  test('are refused when the storage stays away for too long', async () => {
    const [run] = await held();
    isDown = true;
    const refused = expect(saver.save(run!, '1')).rejects.toThrow('the database did not answer in time');
    for (let i = 0; i < 20; i += 1) await stage.advance(1_000);
    await refused;
  });

  test('that wait for a lock hold up no others, and are saved when it is gone (hazard 47)', async () => {
    const [slow, other] = await held(2);
    locked = '1';
    const saving = saver.save(slow!, '1');
    await turns();
    await saver.save(other!, '2');
    expect(await saved(other!)).toBe('2');
    locked = undefined;
    await stage.advance(5_000);
    await saving;
    expect(await saved(slow!)).toBe('1');
  });

  test('of a run that was given to another are refused, and others are saved', async () => {
    const [run, other] = await held(2);
    const stale = { ...run!, leaseId: '00000000-0000-4000-8000-0000000000ff' as LeaseId };
    const [refusal, kept] = await Promise.allSettled([saver.save(stale, '1'), saver.save(other!, '2')]);
    expect(refusal).toMatchObject({ status: 'rejected', reason: { retryable: true } });
    expect(kept.status).toBe('fulfilled');
    expect([await saved(run!), await saved(other!)]).toEqual([undefined, '2']);
  });

  test('that the storage refuses are refused at once, and the others of their statement are saved', async () => {
    const runs = await held(5);
    poison = '3';
    const answers = await Promise.allSettled(runs.map((run, i) => saver.save(run, String(i))));
    expect(answers.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    ]);
    expect(answers[3]).toMatchObject({
      reason: { retryable: true, message: 'The checkpoint could not be saved: the database refuses it.' },
    });
    expect(await Promise.all(runs.map(saved))).toEqual(['0', '1', '2', undefined, '4']);
  });

  test('that are too large or no JSON are refused for good, before anything is sent', async () => {
    const [run] = await held();
    const large = JSON.stringify('x'.repeat(256 * 1024));
    await expect(saver.save(run!, large)).rejects.toMatchObject({ retryable: false });
    await expect(saver.save(run!, '{')).rejects.toMatchObject({
      ...{ retryable: false, message: 'The checkpoint is not JSON.' },
    });
    expect(batches).toEqual([]);
    await saver.save(run!, '{\n"a": 1}\r\n');
    expect(JSON.parse((await saved(run!))!)).toEqual({ a: 1 });
    expect(await saved(run!)).not.toMatch(/[\r\n]/);
  });
});
