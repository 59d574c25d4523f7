/** What a server remembers of runs at the end of a stream: nothing once they are over, however they end. */
import type { ClaimedBatch, WorkerId } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { protocol as P, type RunChannel, type RunReport } from '@carillon/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { KeptChannel } from '../kept-channel.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { LogCloser } from '../run-output/log-closer.ts';
import { QUIET_MS_MIN, RunOutput } from '../run-output/run-output.ts';
import { StoredArtifacts } from '../run-results/stored-artifacts.ts';
import { StoredResults } from '../run-results/stored-results.ts';
import { CheckpointSaver } from '../run-state/checkpoint-saver.ts';
import { ProgressWriter } from '../run-state/progress-writer.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';
import type { WorkerSessions } from './worker-sessions.ts';

const SOON = { withinMs: 60_000 };
const RUNS = 1_000;
/** No stream is given up, however slow the machine is. */
const SILENT_MS = 600_000;
const SECRET = 'correct-horse-battery';

let home: WorkerHomeFixture;
let sessions: WorkerSessions;
let streams: RawStreams;
let output: RunOutput;
let checkpoints: CheckpointSaver;
let progress: ProgressWriter;
let closer: LogCloser;
let aheadMs: number;

beforeEach(async () => {
  aheadMs = 0;
  let kept: KeptChannel | undefined;
  const channel: RunChannel = {
    output: (...given) => kept!.output(...given),
    progress: (...given) => kept!.progress(...given),
    saveCheckpoint: (...given) => kept!.saveCheckpoint(...given),
    close: (...given) => kept!.close(...given),
  };
  home = await WorkerHomeFixture.open({ channel, silentMs: SILENT_MS });
  const { storage, world, signals, common } = home;
  const { runLogs: records, runState: store, leases, runs } = storage;
  const { nodeId } = world;
  const clock = { ...home.clock, monotonic: () => home.clock.monotonic() + aheadMs };
  const logs = new MemoryLogStore();
  output = new RunOutput({ store: logs, records, nodeId, clock, log: silentLog });
  progress = new ProgressWriter({ ...common, store, signals });
  checkpoints = new CheckpointSaver({ ...common, store, patienceMs: SILENT_MS });
  closer = new LogCloser({ ...common, output, leases, runs, records, nodeId, clock });
  const results = new StoredResults({ store: logs, nodeId, bytesMax: 1_024 });
  const artifacts = new StoredArtifacts({
    ...{ store: logs, nodeId, bytesMax: 0 },
    ...{ output: output.output, now: () => clock.now() },
  });
  kept = new KeptChannel({ output, progress, checkpoints, closer, results, artifacts });
  const opened = await home.listen();
  sessions = opened.sessions;
  streams = new RawStreams(opened.address);
});
afterEach(async () => {
  streams.close();
  progress.stop();
  await output.stop();
  await home.close();
});

interface Busy {
  readonly stream: RawStream;
  readonly batch: ClaimedBatch;
  /** Lets the worker tell the end of all its runs. */
  end(kind: P.OutcomeKind): Promise<void>;
  /** As recovery does when the worker is silent for too long. */
  takeAway(): Promise<void>;
}

/** A worker with runs that have a secret, and that said something, showed their progress and saved a checkpoint. */
async function busy(): Promise<Busy> {
  const stream = await streams.connected({ offer: { slots: RUNS, handlers: [{ name: 'quick' }] } });
  await eventually(() => home.workerId(), SOON);
  const { batch } = await home.claim('quick', { count: RUNS });
  home.link.reserve(batch.workerId, RUNS);
  home.link.hand({ ...batch, runs: batch.runs.map((run) => ({ ...run, secrets: [SECRET] })) });
  const { leaseId, runs } = batch;
  const refs = runs.map(({ position, epoch }) => ({ leaseId, position, epoch }));
  stream.say({
    started: refs.map((ref) => ({ ...ref, startedAtMs: 1n })),
    outputs: refs.map((ref) => ({ ...ref, bytes: Buffer.from(`half a line with ${SECRET.slice(0, 5)}`) })),
    progress: refs.map((ref) => ({ ...ref, percent: 50, message: 'half' })),
    checkpoints: refs.map((ref, i) => ({ ...ref, sequence: i + 1, value: '1' })),
  });
  const answered = () => stream.heard.flatMap(({ checkpointAnswers }) => checkpointAnswers).length;
  await eventually(() => expect(answered()).toBe(RUNS), SOON);
  expect(sessions.counts()).toEqual({ leases: 1, runs: RUNS, unsettled: RUNS });
  expect(output.counts().openLogs).toBe(RUNS);
  const end = async (kind: P.OutcomeKind) => {
    const outcomes = runs.map(({ position }) => ({ position, kind, error: 'no', retryable: false }));
    const at = { startedAtMs: runs.map(() => 1n), endedAtMs: runs.map(() => 2n) };
    const positions = runs.map(({ position }) => position);
    stream.say({ ended: [{ leaseId, positions, epochs: runs.map(({ epoch }) => epoch), ...at, outcomes }] });
    await eventually(() => expect(stream.settled.length).toBe(RUNS), SOON);
  };
  const takeAway = async () => {
    const lost = { kind: 'LOST', error: 'silent' } as const;
    const held = await home.storage.leases.leasedBy([batch.workerId as WorkerId]);
    const endedAtMs = home.clock.now();
    const reports = held.map((run): RunReport => ({ run, startedAtMs: undefined, endedAtMs, outcome: lost }));
    expect((await home.reports.ended(reports)).every((verdict) => verdict === 'settled')).toBe(true);
  };
  return { stream, batch, end, takeAway };
}

async function nothingLeft(): Promise<void> {
  await eventually(
    () =>
      expect({
        ...sessions.counts(),
        ...output.counts(),
        saving: checkpoints.savingCount,
        waiting: progress.waitingCount,
      }).toMatchObject({
        leases: 0,
        runs: 0,
        unsettled: 0,
        openLogs: 0,
        unwrittenBytes: 0,
        saving: 0,
        waiting: 0,
      }),
    SOON,
  );
}

test.each([
  ['success', P.OutcomeKind.SUCCESS],
  ['failure', P.OutcomeKind.FAILED],
  ['timeout', P.OutcomeKind.TIMED_OUT],
  ['return', P.OutcomeKind.RETURNED],
])(`nothing is left of ${RUNS} runs after their %s`, async (_, kind) => {
  const { end } = await busy();
  await end(kind);
  await nothingLeft();
});

test(`nothing is left of ${RUNS} runs that were cancelled`, async () => {
  const { batch, end } = await busy();
  for (const { runId } of batch.runs) await home.storage.jobs.cancelRun(runId, home.clock.now());
  await end(P.OutcomeKind.CANCELLED);
  await nothingLeft();
});

test(`nothing is left of ${RUNS} runs that were taken from a worker that is connected and says nothing more`, async () => {
  const { stream, batch, takeAway } = await busy();
  await takeAway();
  // A hint: the leases of all workers are looked at.
  home.signals.send('cancel-requested', { runIds: [] });
  await eventually(() => expect(sessions.counts().leases).toBe(0), SOON);
  stream.say({ beat: { sequence: 1, heldLeases: [batch.leaseId] } });
  await eventually(() => {
    const told = stream.heard.flatMap(({ beatAnswer }) => beatAnswer?.unknownLeases ?? []);
    expect(told).toContain(batch.leaseId);
  }, SOON);
  aheadMs += QUIET_MS_MIN;
  await closer.runOnce();
  await nothingLeft();
});

test(`nothing is left of ${RUNS} runs whose worker is gone`, async () => {
  const { stream, takeAway } = await busy();
  stream.close();
  await eventually(() => expect(sessions.count).toBe(0), SOON);
  await takeAway();
  aheadMs += QUIET_MS_MIN;
  await closer.runOnce();
  await nothingLeft();
});
