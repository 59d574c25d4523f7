import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RpcFixture } from '../rpc/rpc.fixture.ts';
import { protocolOf } from './peek-protocol.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

describe('the first bytes', () => {
  test.each([
    ['GET / HTTP/1.1\r\n', 'http1'],
    ['P', undefined],
    ['PRI', undefined],
    ['PRI * HTTP/2.0\r\n', undefined],
    [PREFACE, 'http2'],
    [`${PREFACE}\0\0\0`, 'http2'],
    ['POST / HTTP/1.1\r\n', 'http1'],
    ['PRI * HTTP/1.1\r\n', 'http1'],
    ['\x16\x03\x01', 'http1'],
    ['', undefined],
  ])('%j are %s', (bytes, expected) => {
    expect(protocolOf(Buffer.from(bytes, 'latin1'))).toBe(expected);
  });
});

describe('on one port', () => {
  let gateway: RpcFixture;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    gateway = await RpcFixture.start();
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await gateway.stop();
  });

  function open(to = gateway): Socket {
    const socket = connect(to.port, '127.0.0.1');
    sockets.push(socket);
    return socket;
  }

  async function readAll(socket: Socket): Promise<string> {
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text;
  }

  test('a request in pieces of one byte is served', async () => {
    const socket = open();
    const heard = readAll(socket);
    for (const letter of 'POST /plain HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n') {
      await new Promise((resolve) => socket.write(letter, resolve));
    }
    expect(await heard).toMatch(/^HTTP\/1.1 404 /);
  });

  test('two requests sent at once on one connection are both answered', async () => {
    const socket = open();
    const heard = readAll(socket);
    socket.write(
      'GET /plain HTTP/1.1\r\nhost: x\r\n\r\nGET /plain HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    expect((await heard).match(/HTTP\/1.1 200 /g)).toHaveLength(2);
  });

  test('a request whose sender says nothing more is answered', async () => {
    const socket = open();
    const heard = readAll(socket);
    socket.end('GET /plain HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await heard).toMatch(/^HTTP\/1.1 200 /);
  });

  test('HTTP/2 reaches the same routes', async () => {
    const session = connectHttp2(gateway.address);
    const request = session.request({ ':path': '/plain' });
    let [status, text] = [0, ''];
    request.on('response', (headers) => {
      status = headers[':status'] ?? 0;
    });
    for await (const chunk of request) text += chunk;
    session.close();
    expect({ status, body: JSON.parse(text) }).toEqual({ status: 200, body: { plain: true } });
  });

  test('nonsense is answered with 400 and cut', async () => {
    const socket = open();
    const heard = readAll(socket);
    socket.write('\x00\x01\x02\r\n\r\n');
    expect(await heard).toMatch(/^HTTP\/1.1 400 /);
  });

  describe('with little patience', () => {
    let impatient: RpcFixture;
    beforeEach(async () => {
      // Only those come here that never finish; what they begin with arrives in time on a busy machine too.
      impatient = await RpcFixture.start({ requestTimeoutMs: 1_000 });
    });
    afterEach(() => impatient.stop());

    test('whoever says nothing, or stops in the middle of the preface, is cut', async () => {
      const [silent, halting] = [open(impatient), open(impatient)];
      halting.write('PRI * HT');
      expect(await Promise.all([readAll(silent), readAll(halting)])).toEqual(['', '']);
    });

    test('a body that does not arrive in time over HTTP/2 is given up', async () => {
      const session = connectHttp2(impatient.address);
      const headers = {
        'content-type': 'application/grpc',
        authorization: 'Bearer correct-horse-battery-staple',
      };
      const request = session.request({
        ':method': 'POST',
        ':path': '/carillon.v1.JobService/GetJob',
        ...headers,
      });
      request.write(Buffer.from([0, 0, 0]));
      request.on('error', () => undefined);
      await new Promise((resolve) => request.once('close', resolve));
      session.destroy();
    });
  });
});
