import { connect } from 'node:net';
import { rpc } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { collect, KEY, type ProtocolName, RpcFixture, refusalOf } from './rpc.fixture.ts';

const STREAMING: ProtocolName[] = ['gRPC over HTTP/2', 'gRPC-Web over HTTP/1.1', 'Connect over HTTP/1.1'];
const DAILY = { codeLocation: 'report', schedule: { frequency: 'daily' } };

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

describe('events', () => {
  test.each(STREAMING)('are told as they happen, over %s', async (protocol) => {
    const jobs = gateway.jobs(protocol);
    const stream = jobs.watchEvents({ types: ['job'], afterId: '0-0-0' })[Symbol.asyncIterator]();
    expect((await gateway.asTimePasses(stream.next())).value?.event).toBeUndefined();
    const { jobId } = await jobs.submitJob({ ...DAILY, userId: 'ada' });
    const told = await gateway.asTimePasses(nextEvent(stream, 'io.carillon.job.created'));
    expect(told.data).toMatchObject({ job_id: jobId, user_id: 'ada', handler: 'report' });
    await stream.return?.();
  });

  test('a place that is none and a type that is none are refused by name', async () => {
    const jobs = gateway.jobs();
    expect(await refusalOf(collect(jobs.watchEvents({ afterId: 'yesterday' })))).toMatchObject({
      status: Code.InvalidArgument,
      message: expect.stringMatching(/^after_id must be the id of an event/),
      detail: { code: 'field_invalid', field: 'after_id' },
    });
    expect(await refusalOf(collect(jobs.watchEvents({ types: ['weather'] })))).toMatchObject({
      status: Code.InvalidArgument,
      message: expect.stringMatching(/^types must be/),
      detail: { field: 'types' },
    });
  });

  test('whoever loses their key while they listen is told so and no more', async () => {
    const stream = gateway.jobs().watchEvents({})[Symbol.asyncIterator]();
    await gateway.asTimePasses(stream.next());
    gateway.revoked = new Refusal('unauthorized', 'The key is not valid.');
    const ended = await gateway.asTimePasses(refusalOf(stream.next()));
    expect(ended).toMatchObject({ status: Code.Unauthenticated, detail: { code: 'unauthorized' } });
  });

  test('whoever may no longer read events is told so', async () => {
    const stream = gateway.jobs().watchEvents({})[Symbol.asyncIterator]();
    await gateway.asTimePasses(stream.next());
    gateway.caller = { ...gateway.caller, grants: [] };
    const ended = await gateway.asTimePasses(refusalOf(stream.next()));
    expect(ended).toMatchObject({ status: Code.PermissionDenied, detail: { code: 'forbidden' } });
  });

  test('go on while the storage is away for a moment, and end when it stays away', async () => {
    const jobs = gateway.jobs();
    const stream = jobs.watchEvents({})[Symbol.asyncIterator]();
    const away = new Refusal('storage_unavailable', 'The database does not answer.');
    await gateway.asTimePasses(stream.next());
    gateway.revoked = away;
    for (const _heartbeat of [1, 2, 3]) await gateway.asTimePasses(stream.next());
    gateway.revoked = undefined;
    const { jobId } = await jobs.submitJob(DAILY);
    const told = await gateway.asTimePasses(nextEvent(stream, 'io.carillon.job.created'));
    expect(told.data).toMatchObject({ job_id: jobId });
    await gateway.asTimePasses(stream.next());
    gateway.revoked = away;
    const ended = await gateway.asTimePasses(refusalOf(endOf(stream)));
    expect(ended).toMatchObject({ status: Code.Unavailable, detail: { code: 'storage_unavailable' } });
  });

  test.each([
    // What clients of gRPC in other languages call "resource exhausted".
    ['gRPC over HTTP/2', /ENHANCE_YOUR_CALM/],
    ['Connect over HTTP/2', /ENHANCE_YOUR_CALM/],
    // HTTP/1.1 has no words for it: the connection just ends.
    ['Connect over HTTP/1.1', /aborted/],
  ] as const)('a reader that takes nothing is let go, over %s', async (protocol, words) => {
    const stream = gateway.jobs(protocol).watchEvents({})[Symbol.asyncIterator]();
    await gateway.asTimePasses(stream.next());
    // About 400 KB at a time, until there is more than the systems on the way keep for a connection.
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`label-${i}`, 'x'.repeat(120)]));
    const jobs = Array.from({ length: 100 }, () => ({ name: 'job', frequency: 'daily', labels }));
    const listeners = () => gateway.events.counts().listeners;
    for (let batch = 0; batch < 100 && listeners() > 0; batch += 1) {
      await gateway.operations.createJobs(jobs);
      for (let second = 0; second < 90 && listeners() > 0; second += 1) {
        gateway.clock.advance(1_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    expect(listeners()).toBe(0);
    expect((await refusalOf(endOf(stream))).message).toMatch(words);
    expect(gateway.errors).toEqual([]);
  });
});

describe('health', () => {
  const { Health, HealthCheckResponse_ServingStatus: status } = rpc.health;

  test('needs no key and follows the readiness of the server', async () => {
    const health = gateway.client(Health, { key: null });
    expect(await health.check({})).toMatchObject({ status: status.SERVING });
    expect(await health.check({ service: 'carillon.v1.JobService' })).toMatchObject({
      status: status.SERVING,
    });
    gateway.readiness = async () => ({ ready: false, reasons: ['no database'] });
    expect(await health.check({})).toMatchObject({ status: status.NOT_SERVING });
    gateway.readiness = () => Promise.reject(new Error('broken'));
    expect(await health.check({})).toMatchObject({ status: status.NOT_SERVING });
    expect((await refusalOf(health.check({ service: 'other' }))).status).toBe(Code.NotFound);
  });

  test('is watched: told at once, and again when it changes', async () => {
    const watch = gateway.client(Health, { key: null }).watch({})[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ status: status.SERVING });
    gateway.readiness = async () => ({ ready: false, reasons: ['no database'] });
    const changed = await gateway.asTimePasses(watch.next());
    expect(changed.value).toMatchObject({ status: status.NOT_SERVING });
    await watch.return?.();
  });

  test('is watched by one address a few times, which leaves places for those with a key', async () => {
    const closing = new AbortController();
    const watch = async (key: string | null, signal = closing.signal) => {
      await gateway.client(Health, { key }).watch({}, { signal })[Symbol.asyncIterator]().next();
    };
    const first = new AbortController();
    await watch(null, first.signal);
    for (let count = 1; count < 10; count += 1) await watch(null);
    const refused = await refusalOf(watch(null));
    expect(refused).toMatchObject({
      status: Code.ResourceExhausted,
      detail: { code: 'too_many_listeners' },
    });
    await watch(KEY);
    first.abort();
    // The server learns a little later that a stream was closed.
    await eventually(() => watch(null), { withinMs: 60_000 });
    closing.abort();
  });

  test('of a service that is not here is watched as unknown', async () => {
    const watch = gateway.client(Health, { key: null }).watch({ service: 'other' })[Symbol.asyncIterator]();
    expect((await watch.next()).value).toMatchObject({ status: status.SERVICE_UNKNOWN });
    await watch.return?.();
  });
});

describe('ends', () => {
  test.each(STREAMING)('a stop ends streams with "unavailable", over %s', async (protocol) => {
    const stream = gateway.jobs(protocol).watchEvents({})[Symbol.asyncIterator]();
    await gateway.asTimePasses(stream.next());
    const ended = refusalOf(stream.next());
    await gateway.stop();
    expect(await ended).toMatchObject({ status: Code.Unavailable, message: 'The server is stopping.' });
  });

  test.each(STREAMING)('a stop lets a call that is under way be answered, over %s', async (protocol) => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    gateway.readiness = async () => {
      asked.resolve();
      await answer.promise;
      return { ready: true, reasons: [] };
    };
    const call = gateway.client(rpc.health.Health, { protocol, key: null }).check({});
    await asked.promise;
    const stopped = gateway.stop();
    answer.resolve();
    expect(await call).toMatchObject({ status: rpc.health.HealthCheckResponse_ServingStatus.SERVING });
    await stopped;
  });

  test('a caller who hangs up in the middle of a message or of a stream is no failure of ours', async () => {
    const head = [
      'POST /carillon.v1.JobService/ListJobs HTTP/1.1',
      'host: x',
      `authorization: Bearer ${KEY}`,
      'content-type: application/grpc-web+proto',
      'content-length: 100',
      '',
      '\0\0',
    ];
    const asked = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    gateway.app.server.on('request', (_request, response) => {
      asked.resolve();
      response.once('close', ended.resolve);
    });
    const socket = connect(gateway.port, '127.0.0.1');
    socket.write(head.join('\r\n'));
    await asked.promise;
    socket.destroy();
    await ended.promise;
    const enough = new AbortController();
    const stream = gateway.jobs().watchEvents({}, { signal: enough.signal })[Symbol.asyncIterator]();
    await gateway.asTimePasses(stream.next());
    enough.abort();
    await eventually(() => expect(gateway.events.counts().listeners).toBe(0), { withinMs: 60_000 });
    expect(gateway.errors).toEqual([]);
  });

  test.each(STREAMING)('a deadline is kept though the answer is not there, over %s', async (protocol) => {
    gateway.readiness = () => new Promise(() => {});
    const call = gateway.client(rpc.health.Health, { protocol, key: null }).check({}, { timeoutMs: 50 });
    expect((await refusalOf(call)).status).toBe(Code.DeadlineExceeded);
  });

  test('a deadline is kept by the server also for a client that does not', async () => {
    gateway.readiness = () => new Promise(() => {});
    const answer = await fetch(`${gateway.address}/grpc.health.v1.Health/Check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-timeout-ms': '50' },
      body: '{}',
    });
    expect(await answer.json()).toMatchObject({ code: 'deadline_exceeded' });
  });

  test('a failure that nobody expected is logged whole and answered without its words', async () => {
    gateway.readiness = async () => ({ ready: true, reasons: [] });
    gateway.storage.jobs.getForChange = () => Promise.reject(new Error('secret words'));
    const refused = await refusalOf(gateway.jobs().getJob({ jobId: '00000000-0000-7000-8000-000000000000' }));
    expect(refused).toMatchObject({ status: Code.Internal, detail: { code: 'internal' } });
    expect(JSON.stringify(refused)).not.toContain('secret');
    expect(gateway.errors).toMatchObject([{ message: 'a call failed' }]);
  });
});

async function endOf(stream: AsyncIterator<unknown>): Promise<void> {
  while (!(await stream.next()).done);
}

async function nextEvent(stream: AsyncIterator<rpc.WatchEventsResponse>, type: string): Promise<rpc.Event> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error('the stream has ended');
    if (value.event?.type === type) return value.event;
  }
}
