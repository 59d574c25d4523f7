import { rpc } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { collect, type ProtocolName, RpcFixture, refusalOf } from './rpc.fixture.ts';

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
      detail: { code: 'field_invalid', field: 'after_id' },
    });
    expect(await refusalOf(collect(jobs.watchEvents({ types: ['weather'] })))).toMatchObject({
      status: Code.InvalidArgument,
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

async function nextEvent(stream: AsyncIterator<rpc.WatchEventsResponse>, type: string): Promise<rpc.Event> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error('the stream has ended');
    if (value.event?.type === type) return value.event;
  }
}
