import { create } from '@bufbuild/protobuf';
import type { JobId, LeaseId, RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { FrameQueue, type ResultPart, SessionRequestSchema } from '../protocol/index.ts';
import type { HeldRun } from '../run-channel.ts';
import { RemoteArtifacts } from './remote-artifacts.ts';

const run: HeldRun = {
  ...{ leaseId: 'lease-1' as LeaseId, position: 0, epoch: 1, jobId: 'job-1' as JobId },
  ...{ runId: 'run-1' as RunId, claimedAtMs: 0 },
};
const FINE = { error: '' };

class Stream {
  readonly frames = new FrameQueue(() => create(SessionRequestSchema));
  readonly #read = this.frames.frames();

  async next(): Promise<ResultPart> {
    const { value } = await this.#read.next();
    return value!.resultParts[0]!;
  }
}

async function* parts() {
  for (const text of ['one', 'two', 'end']) yield Buffer.from(text);
}

function make() {
  let sequence = 0;
  return new RemoteArtifacts(() => (sequence += 1));
}

test('files go up part by part, and begin anew on another stream, which may lead to another server', async () => {
  const artifacts = make();
  const saving = artifacts.save(run, parts);
  const first = new Stream();
  artifacts.attach(first.frames, 1e7);
  expect(artifacts.bytesMax).toBe(1e7);
  const part = await first.next();
  expect(part).toMatchObject({ offset: 0n, artifacts: { last: false } });
  artifacts.answered(part.sequence, FINE);
  expect(await first.next()).toMatchObject({ offset: 3n });
  artifacts.detach();
  const second = new Stream();
  artifacts.attach(second.frames, 1e7);
  const seen: unknown[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { sequence, offset, bytes, artifacts: about } = await second.next();
    seen.push([Number(offset), Buffer.from(bytes).toString(), about!.last]);
    // To the part that was on its way on the first stream: it says nothing about this one.
    artifacts.answered(sequence - 1, { error: 'too early' });
    artifacts.answered(sequence, FINE);
  }
  expect(seen).toEqual([
    [0, 'one', false],
    [3, 'two', false],
    [6, 'end', true],
  ]);
  await saving;
});

test('files that are refused, or cease to come, make room for those of the next run', async () => {
  const artifacts = make();
  const stream = new Stream();
  artifacts.attach(stream.frames, 1e7);
  const refused = artifacts.save(run, parts);
  const broken = artifacts.save(run, async function* () {
    yield Buffer.from('one');
    throw new Error('it took too long');
  });
  const fine = artifacts.save(run, parts);
  artifacts.answered((await stream.next()).sequence, { error: 'the disk is full' });
  await expect(refused).rejects.toThrow('the disk is full');
  await expect(broken).rejects.toThrow('it took too long');
  for (let i = 0; i < 3; i += 1) artifacts.answered((await stream.next()).sequence, FINE);
  await fine;
});
