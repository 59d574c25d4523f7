/** The stream of all jobs: whose rights hold while it lasts, how much of it is read ahead, and how many there may be. */
import { rpc } from '@carillon/contract';
import { type Caller, Refusal, SERVER } from '@carillon/domain';
import { Code, type HandlerContext, type MethodImplSpec } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RpcFixture, refusalOf } from './rpc.fixture.ts';

const PAGE_JOBS = 200;
const OPERATOR: Caller = {
  ...SERVER,
  ...{ kind: 'key', id: 'k1', grants: [{ namespace: '*', role: 'operator', ownOnly: false }] },
};

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
  gateway.caller = OPERATOR;
  const job = { name: 'job', frequency: 'daily', payload: { secret: 'hunter2' } } as const;
  await gateway.operations.createJobs(Array.from({ length: PAGE_JOBS * 2 + 1 }, () => job));
});
afterEach(() => gateway.stop());

/** From the second time that the caller is recognised: when the second page is due. */
function fromSecondPage(change: { caller?: Caller; revoked?: Refusal }): void {
  let times = 0;
  const { caller } = gateway;
  Object.defineProperty(gateway, 'revoked', { get: () => (++times > 1 ? change.revoked : undefined) });
  Object.defineProperty(gateway, 'caller', { get: () => (times > 1 ? (change.caller ?? caller) : caller) });
}

const payloads: unknown[] = [];
async function readAll(): Promise<void> {
  payloads.length = 0;
  for await (const { job } of gateway.jobs().retrieveAllJobs({})) payloads.push(job?.payload);
}

describe('the rights of who reads all jobs', () => {
  test('end the stream with the page at which the key is no longer valid', async () => {
    fromSecondPage({ revoked: new Refusal('unauthorized', 'The key is not valid.') });
    const ended = await refusalOf(readAll());
    expect(ended).toMatchObject({ status: Code.Unauthenticated, detail: { code: 'unauthorized' } });
    expect(payloads).toHaveLength(PAGE_JOBS);
  });

  test('end the stream with the page at which jobs may no longer be read', async () => {
    fromSecondPage({ caller: { ...OPERATOR, grants: [] } });
    expect(await refusalOf(readAll())).toMatchObject({
      status: Code.PermissionDenied,
      detail: { code: 'forbidden' },
    });
    expect(payloads).toHaveLength(PAGE_JOBS);
  });

  test('hide payloads from the page on at which they may no longer be read', async () => {
    const grants = [{ namespace: '*', role: 'viewer', ownOnly: false }] as const;
    fromSecondPage({ caller: { ...OPERATOR, grants } });
    await readAll();
    expect(payloads).toHaveLength(PAGE_JOBS * 2 + 1);
    expect(payloads[PAGE_JOBS - 1]).toEqual({ secret: 'hunter2' });
    expect(payloads[PAGE_JOBS]).toEqual({ secret: '[hidden]' });
  });

  test('are not lost by a rate limit: the stream waits', async () => {
    let times = 0;
    const limited = new Refusal('rate_limited', 'Too many requests.');
    // Asked for once, and again to be thrown.
    const isLimited = () => [2, 3].includes(++times);
    Object.defineProperty(gateway, 'revoked', { get: () => (isLimited() ? limited : undefined) });
    await gateway.asTimePasses(readAll());
    expect(payloads).toHaveLength(PAGE_JOBS * 2 + 1);
  });
});

describe('the stream of all jobs', () => {
  let recognised: number;
  beforeEach(() => {
    recognised = 0;
  });

  /** As the connection pulls it. */
  function pulled(caller: Caller): AsyncIterator<unknown> {
    const method = gateway.methods.find((one) => one.method === rpc.JobService.method.retrieveAllJobs)!;
    const spec = method.implement({
      callerOf: () => caller,
      addressOf: () => '127.0.0.1',
      recognise: async () => {
        recognised += 1;
        return caller;
      },
      errorOf: (error) => error as Error,
      stopping: new AbortController().signal,
      clock: gateway.clock,
      requireCertificate: () => undefined,
      letGo: () => {},
      keepOpen: () => {},
    }) as Extract<MethodImplSpec, { kind: 'server_streaming' }>;
    const request = { $typeName: 'carillon.v1.RetrieveAllJobsRequest', userId: '' };
    const context = { signal: new AbortController().signal } as HandlerContext;
    return spec.impl(request as never, context)[Symbol.asyncIterator]();
  }

  test('reads a page once the page before was taken', async () => {
    const stream = pulled(OPERATOR);
    for (let i = 0; i < PAGE_JOBS; i += 1) await stream.next();
    expect(recognised).toBe(0);
    await stream.next();
    expect(recognised).toBe(1);
  });

  test('recognises its caller again while a page is taken slowly, and repeats and misses nothing', async () => {
    const stream = pulled(OPERATOR);
    const seen = new Set<unknown>();
    for (let i = 0; i < PAGE_JOBS; i += 1) {
      const { value } = await stream.next();
      seen.add((value as { job: { jobId: string } }).job.jobId);
      gateway.clock.advance(1_000);
    }
    expect(recognised).toBeGreaterThan(5);
    expect(seen.size).toBe(PAGE_JOBS);
  });

  test('is read a few times at once by one caller, which leaves others alone', async () => {
    const streams = Array.from({ length: 4 }, () => pulled(OPERATOR));
    for (const stream of streams) await stream.next();
    await expect(pulled(OPERATOR).next()).rejects.toMatchObject({ code: 'too_many_listeners' });
    await pulled({ ...OPERATOR, id: 'k2' }).next();
    await streams[0]!.return!();
    expect((await pulled(OPERATOR).next()).done).toBe(false);
  });
});
