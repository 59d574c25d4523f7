import { create } from '@bufbuild/protobuf';
import type { JobId, LeaseId, RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { FrameQueue, type ResultPart, SessionRequestSchema } from '../protocol/index.ts';
import type { HeldRun } from '../run-channel.ts';
import { RemoteResults } from './remote-results.ts';

const PART_BYTES = 256 * 1_024;
const run: HeldRun = {
  ...{ leaseId: 'lease-1' as LeaseId, position: 0, epoch: 1, jobId: 'job-1' as JobId },
  ...{ runId: 'run-1' as RunId, claimedAtMs: 0 },
};

let sequences = 0;

class Stream {
  readonly frames = new FrameQueue(() => create(SessionRequestSchema));
  readonly #read = this.frames.frames();

  async next(): Promise<ResultPart> {
    const { value } = await this.#read.next();
    return value!.resultParts[0]!;
  }
}

test('a result goes up part by part, and begins anew on another stream, which may lead to another server', async () => {
  const results = new RemoteResults(() => ++sequences);
  const first = new Stream();
  results.attach(first.frames, 1e7);
  const saving = results.save(run, new Uint8Array(2 * PART_BYTES + 10));
  const part = await first.next();
  expect(part).toMatchObject({ offset: 0n, bytesTotal: BigInt(2 * PART_BYTES + 10) });
  results.answered(part.sequence, { error: '', stored: '' });
  expect(await first.next()).toMatchObject({ offset: BigInt(PART_BYTES) });
  results.detach();
  const second = new Stream();
  results.attach(second.frames, 1e7);
  const offsets: bigint[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { sequence, offset } = await second.next();
    offsets.push(offset);
    // To the part that was on its way on the first stream: it says nothing about this one.
    results.answered(sequence - 1, { error: '', stored: 'too early' });
    results.answered(sequence, { error: '', stored: i === 2 ? 'stored' : '' });
  }
  expect(offsets).toEqual([0n, BigInt(PART_BYTES), BigInt(2 * PART_BYTES)]);
  expect(await saving).toBe('stored');
});
