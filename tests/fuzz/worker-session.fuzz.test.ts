/**
 * Workers that lie: random messages about the runs of another worker, of forged leases, epochs and positions, and bytes that are no
 * message, over real streams to a real home, while an honest worker has these runs. Its runs end once and as it says, nothing of the lies is recorded,
 * nothing fails on our side, and the stream is closed (hazard 14, LEASE-12). A failure prints its seed: SEED=123 repeats it.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  type Caller,
  type ClaimedBatch,
  type Job,
  SERVER,
  WORKER_SCOPES,
  type WorkerId,
} from '@carillon/domain';
import { protocol as P, type RunChannel } from '@carillon/worker';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../packages/server/src/storage/conformance/sample-job.ts';
import { WorkerHomeFixture } from '../../packages/server/src/worker-home/worker-home.fixture.ts';
import { eventually } from '../support/eventually.ts';
import { SEED } from './fuzz.ts';
import { type Known, type Lie, lies } from './lies-arbitrary.ts';
import { LyingStream } from './lying-stream.ts';

const LIARS = process.env.CARILLON_TEST_LONG === 'true' ? 2_000 : 300;
const RUNS_HELD = 3;
const SOON = { withinMs: 60_000 };
/** Only ends a hang. */
const MS_EACH_MAX = 5_000;

let home: WorkerHomeFixture;
let address: string;
let honest: WorkerId;
/** Runs that the handler of the honest worker has begun, and how to end them. */
const begun = new Map<string, () => void>();
/** What was kept of output, progress and checkpoints, by run. */
const kept = new Map<string, string[]>();

const keep = ({ runId }: { runId: string }, what: string) =>
  void kept.set(runId, [...(kept.get(runId) ?? []), what]);
const CHANNEL: RunChannel = {
  output: (run, { bytes }) => keep(run, `output ${Buffer.from(bytes).toString()}`) as undefined,
  progress: (run, { percent }) => keep(run, `progress ${percent}`),
  saveCheckpoint: async (run, value) => keep(run, `checkpoint ${value}`),
  close: (run) => keep(run, 'closed') as undefined,
};

beforeAll(async () => {
  home = await WorkerHomeFixture.open({ channel: CHANNEL });
  ({ address } = await home.listen());
  await home.startRemote([address], {
    honest: async (run) => {
      await run.checkpoint.save(1);
      await new Promise<void>((resolve) => begun.set(run.runId, resolve));
      run.log.info('the truth');
      return { done: run.runId };
    },
  });
  honest = await eventually(() => home.workerId(), SOON);
});
afterAll(() => home.close());

/** To the honest worker, whoever else is connected. */
async function handed(): Promise<{ jobs: Job[]; batch: ClaimedBatch }> {
  const made = await Promise.all(
    Array.from({ length: RUNS_HELD }, () => home.world.oneOff({ job: { handler: 'honest', payload: '{}' } })),
  );
  const jobs = made.map(({ job }) => job);
  const runs = (await Promise.all(jobs.map((job) => home.world.pendingRuns(job)))).flat();
  const batch = await home.world.claim(runs, { workerId: honest, nowMs: home.clock.now() });
  home.link.reserve(honest, batch.runs.length);
  home.link.hand(batch);
  await eventually(() => expect(batch.runs.every(({ runId }) => begun.has(runId))).toBe(true), SOON);
  return { jobs, batch };
}

/** Each run ended once, at its first attempt, with what the honest worker said. */
async function endWell({ jobs, batch }: { jobs: Job[]; batch: ClaimedBatch }): Promise<void> {
  for (const { runId } of batch.runs) begun.get(runId)?.();
  for (const { jobId } of jobs) {
    const views = await eventually(async () => {
      const found = await home.world.runsOf(jobId, home.clock.now());
      expect(found.map(({ status }) => status)).toEqual(['SUCCESS']);
      return found;
    }, SOON);
    const [view] = views;
    expect(view).toMatchObject({
      executorId: honest,
      attempt: 1,
      result: JSON.stringify({ done: view!.runId }),
    });
    expect(kept.get(view!.runId)).toEqual(['checkpoint 1', 'output the truth\n', 'closed']);
    begun.delete(view!.runId);
    kept.delete(view!.runId);
  }
}

let liars = 0;

/** A key of its own: one that has told too many lies is held off. */
function liarKey(): string {
  liars += 1;
  const id = `liar-${liars}`;
  home.keys.set(id, { ...SERVER, kind: 'key', id, name: id, scopes: WORKER_SCOPES } as Caller);
  return id;
}

function hello(over: { workerId?: string; bootId?: string; held?: string } = {}): Uint8Array {
  const { workerId = newId(), bootId = newId(), held } = over;
  const message = create(P.SessionRequestSchema, {
    hello: {
      ...{ protocol: 1, workerId, bootId, session: 1, name: 'liar' },
      offer: { slots: 4, handlers: [{ name: 'honest' }] },
      heldRuns: held === undefined ? [] : [{ leaseId: held, positions: [0, 1] }],
    },
  });
  return toBinary(P.SessionRequestSchema, message);
}

async function tell(key: string, first: Uint8Array | undefined, told: readonly Lie[]): Promise<LyingStream> {
  const stream = new LyingStream(address, key);
  if (first) stream.say(first);
  for (const { bytes, isWhole } of told) {
    if (isWhole) stream.say(bytes);
    else stream.raw(bytes);
  }
  // Whoever has not broken the protocol by now does so.
  stream.say(hello());
  stream.end();
  await stream.ended;
  return stream;
}

test(`${LIARS} workers that lie harm only themselves (SEED=${SEED})`, {
  timeout: LIARS * MS_EACH_MAX,
}, async () => {
  let ended = newId();
  let welcome = 0;
  for (let i = 0; i < LIARS; i += 1) {
    const truth = await handed();
    const { leaseId, runs } = truth.batch;
    const known: Known = {
      ...{ held: leaseId, ended, epoch: runs[0]!.epoch, workerId: honest.split('@')[0]!, bootId: newId() },
    };
    const first = fc.constantFrom(
      hello(),
      hello({ workerId: known.workerId }),
      hello({ held: leaseId }),
      undefined,
    );
    const story = fc.record({ first, told: fc.array(lies(known), { maxLength: 12 }) });
    const [{ first: said, told }] = fc.sample(story, { seed: SEED + i, numRuns: 1 }) as [
      { first: Uint8Array | undefined; told: Lie[] },
    ];
    const stream = await tell(liarKey(), said, told);
    const { heard, status } = stream;
    stream.close();
    if (heard.some((frame) => frame.welcome)) welcome += 1;
    const about = `liar ${i}: ${JSON.stringify(status)} ${heard.map((frame) => frame.goodbye?.reason)}`;
    expect(status.http, about).toBe(200);
    // Neither unknown (2) nor internal (13).
    expect(['', '0', '1', '3', '8'], about).toContain(status.grpc);
    expect(
      heard.flatMap(({ assigns }) => assigns),
      about,
    ).toEqual([]);
    const verdicts = heard.flatMap(({ settled }) => settled.flatMap((each) => each.verdicts));
    expect(
      verdicts.every((verdict) => verdict === P.Verdict.STALE),
      about,
    ).toBe(true);
    await endWell(truth);
    ended = leaseId;
  }
  expect(home.errors).toEqual([]);
  expect(home.warned.filter((facts) => 'err' in facts)).toEqual([]);
  // If most were refused at the door, nothing behind it would have been tried.
  expect(welcome).toBeGreaterThan(LIARS / 2);
  // No stream of a liar is left, and nothing is remembered of what they said.
  await eventually(() => expect(home.link.workers().map(({ workerId }) => workerId)).toEqual([honest]), SOON);
  expect(home.freeSlots()).toEqual([4]);
  expect(await home.storage.leases.leasedBy([honest])).toEqual([]);
});

test('whoever lies again and again is held off, and the honest worker is not', async () => {
  const key = liarKey();
  const garbage = { bytes: Uint8Array.of(0xff, 0xff, 0xff), isWhole: true };
  for (let i = 0; i < 5; i += 1) (await tell(key, hello(), [garbage])).close();
  const stream = await tell(key, hello(), []);
  stream.close();
  const [answer, ...others] = stream.heard;
  expect(others).toEqual([]);
  expect(answer?.goodbye).toMatchObject({ reason: expect.stringContaining('5 times within a minute') });
  await endWell(await handed());
});
