/** Messages that cannot be read are refused like everything else, whichever protocol they come in. */
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
