/** For how long no claim was answered: whoever asks whether this server can run jobs is told. */
import { beforeEach, describe, expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import { claimRuns } from '../storage/conformance/claim-runs.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

let stage: RoleStage;
let dispatcher: Dispatcher;
let worker: TestWorker;
/** Calls that touch what waits hang while it is locked, and then break off. */
let isLocked: { claims: boolean; scans: boolean };
let claims: number;

async function unlessLocked<Answer>(
  kind: keyof typeof isLocked,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const giveUpAt = stage.clock.monotonic() + STATEMENT_TIMEOUT_MS;
  while (isLocked[kind]) {
    if (stage.clock.monotonic() >= giveUpAt) throw new StorageTimeout('locked');
    await new Promise<void>((resolve) => stage.clock.timer(100, resolve));
  }
  return call();
}

beforeEach(async () => {
  stage = await RoleStage.set();
  isLocked = { claims: false, scans: false };
  claims = 0;
  const { signals, common, link, storage, world } = stage;
  const leases: Pick<LeaseStore, 'claim' | 'lanes'> = {
    lanes: (page) => unlessLocked('scans', () => storage.leases.lanes(page)),
    claim: (request) => {
      claims += 1;
      return unlessLocked('claims', () => storage.leases.claim(request));
    },
  };
  const backlog = new StorageBacklog({ ...common, leases, signals });
  const { members } = storage;
  dispatcher = new Dispatcher({ ...common, backlog, leases, link, members, signals, nodeId: world.nodeId });
  worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  dispatcher.start();
  await pass(2_000);
});

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    await stage.advance(100);
    await turns();
  }
}

async function bring(): Promise<void> {
  const { jobs } = await stage.oneOffs(1);
  stage.announce(jobs);
  await turns();
}

const handed = () => worker.handed.flatMap((batch) => batch.runs).length;

describe('the time without an answered claim', () => {
  test('is none while claims are answered, or nothing is asked for', async () => {
    await bring();
    await pass(1_000);
    expect(handed()).toBe(1);
    await pass(60_000);
    expect(dispatcher.unansweredMs).toBe(0);
  });

  test('counts from the first claim that hangs, through those that break off', async () => {
    isLocked = { claims: true, scans: true };
    await bring();
    await pass(4_000);
    expect(dispatcher.unansweredMs).toBeGreaterThanOrEqual(3_900);
    await pass(3 * STATEMENT_TIMEOUT_MS);
    expect(dispatcher.unansweredMs).toBeGreaterThanOrEqual(3 * STATEMENT_TIMEOUT_MS);
    isLocked = { claims: false, scans: false };
    await pass(1_000);
    expect([handed(), dispatcher.unansweredMs]).toEqual([1, 0]);
  });

  test('counts also when nobody announces anything: who cannot look tries to claim', async () => {
    isLocked = { claims: true, scans: true };
    await pass(2 * STATEMENT_TIMEOUT_MS);
    expect(dispatcher.unansweredMs).toBeGreaterThanOrEqual(2 * STATEMENT_TIMEOUT_MS - 3_000);
    isLocked = { claims: false, scans: false };
    await pass(2_000);
    expect(dispatcher.unansweredMs).toBe(0);
  });

  test('is over when claims are answered again, although nothing waits any more', async () => {
    isLocked = { claims: true, scans: false };
    const { jobs, runIds } = await stage.oneOffs(1);
    stage.announce(jobs);
    await pass(STATEMENT_TIMEOUT_MS - 1_000);
    await claimRuns(stage.storage, [{ runId: runIds[0]!, jobId: jobs[0]!.jobId }], {
      leaseId: stage.random.id() as never,
      workerId: stage.world.workerId,
      nowMs: stage.clock.now(),
    });
    await pass(10_000);
    isLocked = { claims: false, scans: false };
    await pass(3_000);
    expect([handed(), dispatcher.unansweredMs]).toEqual([0, 0]);
  });

  test('does not count while only scans are slow, and they cause few claims', async () => {
    isLocked = { claims: false, scans: true };
    const before = claims;
    await pass(STATEMENT_TIMEOUT_MS);
    expect(dispatcher.unansweredMs).toBe(0);
    expect(claims - before).toBeLessThanOrEqual(STATEMENT_TIMEOUT_MS / 1_000);
  });
});
