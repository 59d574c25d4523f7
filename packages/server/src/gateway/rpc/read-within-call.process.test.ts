/** Messages that cannot be read are refused like everything else, whichever protocol they come in. */
import { connect } from 'node:net';
import { BytesValueSchema } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { Code, type Interceptor } from '@connectrpc/connect';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEY, PROTOCOLS, type ProtocolName, RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeAll(async () => {
  gateway = await RpcFixture.start();
});
afterAll(() => gateway.stop());

const withKey: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${KEY}`);
  return next(request);
};
/** As the jobs of a batch: a number that does not end. */
const BROKEN = { value: Uint8Array.of(0xff, 0xff) };

test.each(Object.keys(PROTOCOLS) as ProtocolName[])(
  'a broken message is refused, over %s',
  async (protocol) => {
    const transport = PROTOCOLS[protocol](gateway.address, [withKey]);
    const method = { ...rpc.JobService.method.submitJobs, input: BytesValueSchema };
    const call = transport.unary(method, undefined, undefined, undefined, BROKEN);
    expect(await refusalOf(call)).toMatchObject({
      status: Code.InvalidArgument,
      message: expect.stringMatching(/^The message cannot be read: .*\.$/),
      detail: { code: 'message_unreadable', requestId: expect.stringMatching(/./) },
    });
    expect(gateway.errors).toEqual([]);
  },
);

test.each(Object.keys(PROTOCOLS) as ProtocolName[])(
  'a message over the limit is told which setting that is, over %s',
  async (protocol) => {
    const large = { codeLocation: 'x'.repeat(1024 * 1024) };
    expect(await refusalOf(gateway.jobs(protocol).submitJob(large))).toMatchObject({
      status: Code.ResourceExhausted,
      message:
        'The message is larger than 1024 KiB, which is what this server takes (its setting body_limit_kb); send less at once, or raise it.',
      detail: { code: 'body_too_large' },
    });
  },
);

test.each(['application/grpc-web+proto', 'application/json'])(
  'a message over the limit as %s does not hold up the next request of its connection',
  async (type) => {
    const large = encodeEnvelope(0, new Uint8Array(8 * 1024 * 1024));
    const socket = connect(gateway.port, '127.0.0.1');
    const next = new Promise<void>((resolve, reject) => {
      let heard = '';
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        heard += chunk;
        if (heard.includes('{"plain":true}')) resolve();
      });
    });
    socket.write(
      `POST /carillon.v1.JobService/SubmitJob HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n` +
        `content-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n`,
    );
    socket.write(large);
    socket.write('\r\n0\r\n\r\nGET /plain HTTP/1.1\r\nhost: x\r\n\r\n');
    await next;
    socket.destroy();
  },
);

test('a broken message that begins a stream is refused', async () => {
  const answer = await fetch(`${gateway.address}/carillon.v1.JobService/RetrieveAllJobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+proto', authorization: `Bearer ${KEY}` },
    body: encodeEnvelope(0, Uint8Array.of(0x0a, 0x05, 0x61)) as Uint8Array<ArrayBuffer>,
  });
  const text = await answer.text();
  expect(JSON.parse(text.slice(text.indexOf('{')))).toMatchObject({
    error: { code: 'invalid_argument', details: [{ debug: { code: 'message_unreadable' } }] },
  });
});

test('a broken message that says how it is packed, and is not, is refused', async () => {
  const answer = await fetch(`${gateway.address}/carillon.v1.JobService/ListJobs`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      authorization: `Bearer ${KEY}`,
    },
    body: '{}',
  });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ details: [{ debug: { code: 'message_unreadable' } }] });
});

test('a long reason comes through packed or not', async () => {
  const body = JSON.stringify({ [`${'x'.repeat(5_000)}`]: 1 });
  for (const encoding of ['gzip', 'br', 'identity']) {
    const answer = await fetch(`${gateway.address}/carillon.v1.JobService/ListJobs`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': encoding,
        authorization: `Bearer ${KEY}`,
      },
      body,
    });
    expect(await answer.json()).toMatchObject({ details: [{ debug: { code: 'message_unreadable' } }] });
  }
});

test('no message, and more than one, are refused', async () => {
  const one = encodeEnvelope(0, new Uint8Array());
  for (const body of [new Uint8Array(), Buffer.concat([one, one])]) {
    const answer = await fetch(`${gateway.address}/carillon.v1.JobService/ListJobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto', authorization: `Bearer ${KEY}` },
      body: body as Uint8Array<ArrayBuffer>,
    });
    expect(await answer.text()).toMatch(new RegExp(`grpc-status: ${Code.Unimplemented}`));
  }
});
