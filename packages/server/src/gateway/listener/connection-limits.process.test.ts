import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { RpcFixture } from '../rpc/rpc.fixture.ts';
import { ConnectionLimits } from './connection-limits.ts';
import type { ListenerOptions } from './create-listener.ts';
import { readCertificate } from './read-certificate.ts';
import { makeCertificate } from './test-certificate.fixture.ts';

let gateway: RpcFixture | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway?.stop();
});

async function start(options: ListenerOptions): Promise<RpcFixture> {
  gateway = await RpcFixture.start(options);
  return gateway;
}

/** The status of an answer on this connection; undefined when it was closed instead. */
async function answered(port: number, localAddress = '127.0.0.1'): Promise<string | undefined> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  sockets.push(socket);
  socket.write('GET /plain HTTP/1.1\r\nhost: x\r\n\r\n');
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(/^HTTP\/1.1 (\d+)/.exec(String(bytes))?.[1]));
    socket.once('close', () => resolve(undefined));
  });
}

describe('connections', () => {
  test('of one address leave room for others, and a closed one makes room', async () => {
    const refused: string[] = [];
    const { port } = await start({
      limits: { total: 10, perAddress: 2 },
      onRefused: (address) => refused.push(address),
    });
    expect([await answered(port), await answered(port)]).toEqual(['200', '200']);
    expect(await answered(port)).toBeUndefined();
    expect(refused).toEqual(['127.0.0.1']);
    expect(await answered(port, '127.0.0.2')).toBe('200');
    const [first] = sockets;
    const closed = once(first!, 'close');
    first!.end();
    await closed;
    let again: string | undefined;
    // The other side learns of it a little later.
    while (again === undefined) again = await answered(port);
    expect(again).toBe('200');
  });

  test('are limited in total, under TLS too', async () => {
    const limits = new ConnectionLimits({ total: 3, perAddress: 2, trustedProxies: ['10.0.0.0/8', '::1'] });
    const leave = [limits.take('10.1.2.3'), limits.take('10.1.2.3'), limits.take('::1')];
    expect(leave.every((place) => place !== undefined)).toBe(true);
    expect(limits.take('192.0.2.1')).toBeUndefined();
    leave[0]!();
    expect(limits.take('192.0.2.1')).toBeDefined();
  });

  test('of an IPv6 network count together', () => {
    const limits = new ConnectionLimits({ total: 10, perAddress: 1 });
    expect(limits.take('2001:db8::1')).toBeDefined();
    expect(limits.take('2001:db8::2')).toBeUndefined();
    expect(limits.take('2001:db8:0:1::1')).toBeDefined();
  });
});

describe('a connection is closed', () => {
  test('that does not finish the TLS handshake in time', async () => {
    const files = makeCertificate();
    try {
      const { port } = await start({ tls: await readCertificate(files), handshakeTimeoutMs: 500 });
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      // Half of a greeting.
      socket.write(Buffer.from([0x16, 0x03, 0x01]));
      await new Promise((resolve) => socket.once('close', resolve));
    } finally {
      files.remove();
    }
  });

  test('that sends its headers too slowly', async () => {
    const { port } = await start({ headersTimeoutMs: 1_000 });
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes;
    });
    socket.write('GET /plain HTTP/1.1\r\nhost: x\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(heard).toMatch(/^(HTTP\/1.1 408|$)/);
  });
});
