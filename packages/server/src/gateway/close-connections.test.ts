import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function open(gateway: GatewayFixture): Promise<Socket> {
  const { port } = gateway.app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  await new Promise((resolve) => socket.once('connect', resolve));
  // The other side has taken it only when it has taken one that came later.
  await fetch(`http://127.0.0.1:${port}/health/live`).then((answer) => answer.text());
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

test('a connection that never asked anything does not hold up the close', async () => {
  const gateway = new GatewayFixture();
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const silent = await open(gateway);
  const heard = readAll(silent);
  await gateway.app.close();
  expect(await heard).toBe('');
});

test('a connection that asked before is cut, one that is asking gets its answer', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const gateway = new GatewayFixture({
    readiness: async () => {
      asked.resolve();
      await answer.promise;
      return { ready: true, reasons: [] };
    },
  });
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const [idle, asking] = [await open(gateway), await open(gateway)];
  idle.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => idle.once('data', resolve));
  asking.write('GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n');
  const heard = readAll(asking);
  await asked.promise;
  const closed = gateway.app.close();
  await new Promise((resolve) => idle.once('close', resolve));
  answer.resolve();
  expect(await heard).toMatch(/^HTTP\/1.1 200 /);
  await closed;
});

test('over HTTP/2 an idle connection is let go, and a request that is under way gets its answer', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const gateway = new GatewayFixture({
    readiness: async () => {
      asked.resolve();
      await answer.promise;
      return { ready: true, reasons: [] };
    },
  });
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = gateway.app.server.address() as AddressInfo;
  const [idle, asking] = [connectHttp2(`http://127.0.0.1:${port}`), connectHttp2(`http://127.0.0.1:${port}`)];
  const letGo = new Promise((resolve) => idle.once('close', resolve));
  await new Promise((resolve) => idle.ping(resolve));
  const request = asking.request({ ':path': '/health/ready' });
  const status = new Promise((resolve) => request.once('response', (head) => resolve(head[':status'])));
  request.resume();
  await asked.promise;
  const closed = gateway.app.close();
  await letGo;
  answer.resolve();
  expect(await status).toBe(200);
  await closed;
});
