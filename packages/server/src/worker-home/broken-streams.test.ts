/** A stream whose worker is gone, such as one that a server finds after it stood still, is no breach of the protocol and no error of the server. */
import { create } from '@bufbuild/protobuf';
import { SERVER } from '@carillon/domain';
import { protocol as P } from '@carillon/worker';
import type { HandlerContext } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RpcHost } from '../gateway/rpc/rpc-method.ts';
import { workerMethods } from '../gateway/rpc/worker-methods.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';
import type { SessionCall, WorkerSessions } from './worker-sessions.ts';

let home: WorkerHomeFixture;
let sessions: WorkerSessions;

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  ({ sessions } = await home.listen());
});

afterEach(() => home.close());

async function serve(requests: AsyncIterable<P.SessionRequest>, signal: AbortSignal) {
  const rights = { mayOffer: () => true, namespaces: 'all' } as const;
  const call: SessionCall = {
    ...{ keyId: 'key-of-a-worker', requests, signal, rights, recognise: async () => rights },
    ...{ keepOpen: () => undefined, letGo: () => undefined, unreadable: () => undefined },
  };
  const answers: P.SessionResponse[] = [];
  for await (const answer of sessions.serve(call)) answers.push(answer);
  return answers;
}

test('a stream that ended before its first message is answered with nothing, and nobody is accused', async () => {
  expect(await serve((async function* () {})(), new AbortController().signal)).toEqual([]);
  expect(home.warnings).toEqual([]);
});

test('nor is a stream that broke before its first message', async () => {
  const requests: AsyncIterable<P.SessionRequest> = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the stream was reset')) }),
  };
  expect(await serve(requests, AbortSignal.abort())).toEqual([]);
  expect(home.warnings).toEqual([]);
});

test('a first message without a hello still is a breach', async () => {
  const requests = (async function* () {
    yield create(P.SessionRequestSchema, {});
  })();
  const [answer] = await serve(requests, new AbortController().signal);
  expect(answer?.goodbye?.reason).toBe('the first message of a worker holds its hello');
  expect(home.warnings).toHaveLength(1);
});

test('a message that cannot be written because the stream is gone is no call that failed', async () => {
  const failed: unknown[] = [];
  const host = {
    callerOf: () => SERVER,
    requireCertificate: () => undefined,
    errorOf: (error: unknown) => {
      failed.push(error);
      return error as Error;
    },
  } as unknown as RpcHost;
  let isOver = false;
  const [method] = workerMethods({
    async *serve() {
      try {
        for (;;) yield create(P.SessionResponseSchema, {});
      } finally {
        isOver = true;
      }
    },
  });
  const { impl } = method!.implement(host) as unknown as {
    impl(requests: object, context: HandlerContext): AsyncGenerator<unknown>;
  };
  const { signal } = new AbortController();
  const answers = impl({}, { signal } as HandlerContext);
  await answers.next();
  const gone = new Error('The stream has been destroyed');
  await expect(answers.throw(gone)).rejects.toBe(gone);
  expect({ failed, isOver }).toEqual({ failed: [], isOver: true });
});
