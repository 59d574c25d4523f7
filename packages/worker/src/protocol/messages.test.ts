import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { LeaseId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { batchOf as claimedBatch, claimedRun } from '../claimed-run.fixture.ts';
import type { RunReport } from '../runtime/worker-home.ts';
import {
  assignsOf,
  batchOf,
  EndedSchema,
  endedOf,
  FRAME_BYTES_MAX,
  FrameQueue,
  OutcomeSchema,
  outcomeOf,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
  type Sized,
  URGENCY,
  usageOf,
} from './index.ts';

/** Three bytes each in UTF-8. */
const text = (bytes: number) => JSON.stringify('字'.repeat(bytes / 3));

async function framesOf<Frame, Message>(
  { parts, fill }: { parts: readonly Sized<Message>[]; fill: (frame: Frame, message: Message) => void },
  newFrame: () => Frame,
): Promise<Frame[]> {
  const queue = new FrameQueue(newFrame);
  for (const { message, bytes } of parts) queue.put(URGENCY.work, bytes, (frame) => fill(frame, message));
  queue.end();
  const frames: Frame[] = [];
  for await (const frame of queue.frames()) frames.push(frame);
  return frames;
}

test.each([255_000, 765_000])(
  'a lease of 72 runs with payloads of %i bytes in characters of three bytes arrives once, in frames that the worker takes',
  async (bytes) => {
    const payload = text(bytes);
    const batch = claimedBatch(...Array.from({ length: 72 }, () => ({ payload })));
    const frames = await framesOf<SessionResponse, ReturnType<typeof assignsOf>[number]['message']>(
      { parts: assignsOf(batch), fill: (frame, assign) => frame.assigns.push(assign) },
      () => create(SessionResponseSchema),
    );
    for (const frame of frames)
      expect(toBinary(SessionResponseSchema, frame).length).toBeLessThanOrEqual(FRAME_BYTES_MAX);
    const runs = frames.flatMap(({ assigns }) =>
      assigns.flatMap((assign) => batchOf(assign, batch.workerId).runs),
    );
    expect(runs.map(({ position }) => position)).toEqual(batch.runs.map(({ position }) => position));
    expect(runs.every((run) => run.payload === payload)).toBe(true);
  },
);

test('checkpoints, secrets and namespaces of runs count as what they are in UTF-8', () => {
  const long = '字'.repeat(80_000);
  const batch = claimedBatch(
    ...Array.from({ length: 8 }, () => ({ checkpoint: long, secrets: [long], namespace: long })),
  );
  for (const { message, bytes } of assignsOf(batch)) {
    const frame = create(SessionResponseSchema, { assigns: [message] });
    expect(toBinary(SessionResponseSchema, frame).length).toBeLessThanOrEqual(bytes);
  }
});

test.each<RunReport['usage']>([
  { peakMemoryBytes: 2 ** 40, cpuSeconds: 0.25 },
  { peakMemoryBytes: undefined, cpuSeconds: 0 },
  undefined,
])('what a run took of the machine arrives with its end: %j', (usage) => {
  const outcome = { kind: 'SUCCESS' } as const;
  const run = claimedRun({ position: 3 });
  const [part] = endedOf([{ run, startedAtMs: 1, endedAtMs: 2, outcome, usage }]);
  const [told] = fromBinary(EndedSchema, toBinary(EndedSchema, part!.message)).outcomes;
  expect(told?.position).toBe(usage && 3);
  expect(usageOf(told)).toEqual(usage);
  expect(outcomeOf(told)).toEqual(outcome);
});

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])(
  '%d seconds of CPU time are not believed',
  (cpuSeconds) => {
    expect(usageOf(create(OutcomeSchema, { cpuSeconds }))).toBeUndefined();
  },
);

test('large results arrive once, in frames that the server takes, whatever their characters', async () => {
  const result = text(255_000);
  const reports = Array.from({ length: 72 }, (_, position) => ({
    run: claimedRun({ position, leaseId: `lease-${position % 2}` as LeaseId }),
    startedAtMs: 1,
    endedAtMs: 2,
    outcome: { kind: 'SUCCESS', result } as const,
  }));
  const parts = endedOf(reports);
  for (const { message, bytes } of parts) {
    const frame = create(SessionRequestSchema, { ended: [message] });
    expect(toBinary(SessionRequestSchema, frame).length).toBeLessThanOrEqual(bytes);
  }
  const frames = await framesOf<SessionRequest, (typeof parts)[number]['message']>(
    { parts, fill: (frame, ended) => frame.ended.push(ended) },
    () => create(SessionRequestSchema),
  );
  for (const frame of frames)
    expect(toBinary(SessionRequestSchema, frame).length).toBeLessThanOrEqual(FRAME_BYTES_MAX / 2);
  const positions = frames.flatMap(({ ended }) => ended.flatMap((each) => each.positions));
  expect(positions.toSorted((a, b) => a - b)).toEqual(reports.map(({ run }) => run.position));
});
