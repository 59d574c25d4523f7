import { connect } from 'node:http2';
import type { rpc } from '@carillon/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEY, type ProtocolName, RpcFixture } from '../rpc/rpc.fixture.ts';

let impatient: RpcFixture;
beforeEach(async () => {
  // Short, and still enough for what has to arrive in time on a slow machine.
  impatient = await RpcFixture.start({ requestTimeoutMs: 4_000 });
});
afterEach(() => impatient.stop());

/** Resolves when a request that was begun now has been given up, because its body never came. */
async function requestTimeout(): Promise<void> {
  const session = connect(impatient.address);
  try {
    const request = session.request({
      ':method': 'POST',
      ':path': '/carillon.v1.JobService/GetJob',
      'content-type': 'application/grpc',
      authorization: `Bearer ${KEY}`,
    });
    request.on('error', () => undefined);
    request.write(Buffer.from([0, 0, 0]));
    await new Promise((resolve) => request.once('close', resolve));
  } finally {
    session.destroy();
  }
}

test.each(['gRPC over HTTP/2', 'gRPC-Web over HTTP/2', 'Connect over HTTP/2'] as ProtocolName[])(
  'a stream goes on after the time in which requests must arrive, over %s',
  async (protocol) => {
    const jobs = impatient.jobs(protocol);
    const stream = jobs.watchEvents({ types: ['job'] })[Symbol.asyncIterator]();
    await impatient.asTimePasses(stream.next());
    await requestTimeout();
    const { jobId } = await jobs.submitJob({ codeLocation: 'report', schedule: { frequency: 'daily' } });
    const told = await impatient.asTimePasses(nextJobId(stream));
    expect(told).toBe(jobId);
    expect(impatient.errors).toEqual([]);
    await stream.return?.();
  },
);

async function nextJobId(stream: AsyncIterator<rpc.WatchEventsResponse>): Promise<unknown> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error('the stream has ended');
    if (value.event) return value.event.data?.job_id;
  }
}
