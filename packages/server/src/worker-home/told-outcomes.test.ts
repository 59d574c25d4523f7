/** Outcomes of workers that do not keep the rules: they mask nothing, or forge what only a server writes. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type ClaimedBatch, type ClaimedRun, ERROR_LENGTH_MAX } from '@carillon/domain';
import { protocol as P, type RunChannel } from '@carillon/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
let home: WorkerHomeFixture;
let said: string[];
let streams: RawStreams;

const CHANNEL: RunChannel = {
  output: ({ runId }, { stream, bytes }) =>
    void said.push(`${runId} ${stream} ${Buffer.from(bytes).toString()}`) as undefined,
  progress: () => undefined,
  saveCheckpoint: async () => undefined,
  close: ({ runId }) => void said.push(`${runId} closed`) as undefined,
};

beforeEach(async () => {
  said = [];
  home = await WorkerHomeFixture.open({ channel: CHANNEL });
  streams = new RawStreams((await home.listen()).address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

const about = ({ leaseId, position, epoch }: ClaimedRun) => ({ leaseId, position, epoch });

const endOf = ({ leaseId, runs }: ClaimedBatch, over: MessageInitShape<typeof P.EndedSchema>) => {
  const [run] = runs;
  const { position, epoch } = run!;
  const times = { startedAtMs: [1n], endedAtMs: [2n] };
  return { ended: [{ leaseId, positions: [position], epochs: [epoch], ...times, ...over }] };
};

test('what a run says holds nothing of a secret that was cut with the error, or when the run was stopped', async () => {
  const stream = await streams.connected();
  await eventually(() => home.workerId(), SOON);
  const { batch } = await home.claim('quick');
  home.link.reserve(batch.workerId, 1);
  home.link.hand({ ...batch, runs: batch.runs.map((run) => ({ ...run, secrets: ['correct-horse'] })) });
  await eventually(() => expect(stream.heard.some(({ assigns }) => assigns.length > 0)).toBe(true), SOON);
  stream.say({ outputs: [{ ...about(batch.runs[0]!), bytes: Buffer.from('it is correct-hors') }] });
  const error = `${'x'.repeat(ERROR_LENGTH_MAX - 12)}correct-horse`;
  const kind = P.OutcomeKind.TIMED_OUT;
  stream.say(endOf(batch, { outcomes: [{ position: 0, kind, error }] }));
  await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
  const { runId, jobId } = batch.runs[0]!;
  expect(said).toEqual([`${runId} stdout it is `, `${runId} stdout ***`, `${runId} closed`]);
  const views = await home.world.runsOf(jobId, home.clock.now());
  expect(views.map((view) => view.error)).toContain(`${'x'.repeat(ERROR_LENGTH_MAX - 12)}***`);
});

test('an outcome is kept with a note where its result claims to be stored, and nobody took it', async () => {
  const stream = await streams.connected();
  await eventually(() => home.workerId(), SOON);
  const { batch } = await home.hand('quick');
  await eventually(() => expect(stream.heard.some(({ assigns }) => assigns.length > 0)).toBe(true), SOON);
  const day = new Date(batch.claimedAtMs).toISOString().slice(0, 10);
  const result = JSON.stringify({ $stored: { bytes: 5, day, server: newId() } });
  stream.say(endOf(batch, { outcomes: [{ position: 0, result }] }));
  await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
  const [view] = await home.world.runsOf(batch.runs[0]!.jobId, home.clock.now());
  expect(JSON.parse(view!.result!)).toEqual({ note: expect.stringContaining('no server has taken it') });
});
