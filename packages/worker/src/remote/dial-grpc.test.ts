/** A worker that dials again and again holds the connection of its last dial alone. */
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { SessionRequestSchema, SessionResponseSchema, WorkerService } from '../protocol/index.ts';
import { dialGrpc } from './dial-grpc.ts';

const LIMIT = { withinMs: 60_000 };
type Ending = 'breaks' | 'ends' | 'stays';

const connections = new Set<ServerHttp2Session>();
let server: Http2Server;
let ending: Ending;

beforeEach(async () => {
  const routes: Parameters<typeof connectNodeAdapter>[0]['routes'] = (router) =>
    router.service(WorkerService, {
      async *session(_requests, { signal }) {
        yield create(SessionResponseSchema, { welcome: {} });
        if (ending === 'breaks') throw new ConnectError('broken', Code.Unavailable);
        if (ending === 'stays') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
  server = createServer(connectNodeAdapter({ routes }));
  server.on('session', (connection) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const connection of connections) connection.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function dialOnce({ leavesAt }: { leavesAt?: 'first message' } = {}): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const over = new AbortController();
  const requests = async function* () {
    yield create(SessionRequestSchema, { hello: {} });
    await new Promise((resolve) => over.signal.addEventListener('abort', resolve));
  };
  try {
    const dialled = dialGrpc({ key: 'key' })(`http://127.0.0.1:${port}`, requests(), over.signal);
    for await (const { welcome } of dialled) if (welcome && leavesAt) over.abort(new Error('let go'));
  } catch {
    // The next dial follows.
  } finally {
    over.abort();
  }
}

test.each<Ending>(['breaks', 'ends', 'stays'])(
  'a dial whose stream %s leaves no connection open',
  async (how) => {
    ending = how;
    for (let dials = 0; dials < 5; dials += 1)
      await dialOnce(how === 'stays' ? { leavesAt: 'first message' } : {});
    await eventually(() => expect(connections.size).toBe(0), LIMIT);
  },
);
