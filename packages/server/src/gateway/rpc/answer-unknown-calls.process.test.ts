import { connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayFixture, KEY } from '../gateway.fixture.ts';
import { PROTOCOLS, type ProtocolName, refusalOf } from './rpc.fixture.ts';

const UNKNOWN = '/carillon.v1.NoService/Nothing';

let gateway: GatewayFixture;
let address: string;
const warnings: string[] = [];
const onWarning = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`);
beforeAll(async () => {
  process.on('warning', onWarning);
  gateway = new GatewayFixture();
  address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway.app.close();
  process.off('warning', onWarning);
});

interface Answer {
  readonly headers: IncomingHttpHeaders;
  /** The headers were all of it. */
  readonly endsWithHeaders: boolean;
  readonly body: string;
}

/** Over HTTP/2, with a body that goes on: only its beginning is ever sent. */
async function begin(path: string, headers: Record<string, string>): Promise<Answer> {
  const session = connect(address);
  try {
    const request = session.request({
      ':method': 'POST',
      ':path': path,
      authorization: `Bearer ${KEY}`,
      ...headers,
    });
    request.write(Buffer.from([0, 0, 0, 0, 9, 1]));
    return await new Promise<Answer>((resolve, reject) => {
      let body = '';
      request.on('error', reject);
      request.on('response', (answered, flags) => {
        const endsWithHeaders = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
        request.on('data', (chunk) => {
          body += chunk;
        });
        request.on('end', () => resolve({ headers: answered, endsWithHeaders, body }));
      });
    });
  } finally {
    session.destroy();
  }
}

test.each(['application/grpc', 'application/grpc+proto', 'application/grpc-web+proto'])(
  'an unknown call as %s is unimplemented, said in headers alone and before its body has come',
  async (type) => {
    const answer = await begin(UNKNOWN, { 'content-type': type, te: 'trailers' });
    expect(answer).toMatchObject({ endsWithHeaders: true, body: '' });
    expect(answer.headers).toMatchObject({
      ':status': 200,
      'content-type': type,
      'grpc-status': '12',
      'grpc-message': encodeURIComponent(`There is no call ${UNKNOWN}.`),
      'x-request-id': expect.stringMatching(/./),
    });
  },
);

test.each([
  { 'content-type': 'application/connect+json' },
  { 'content-type': 'application/proto' },
  { 'content-type': 'application/json', 'connect-protocol-version': '1' },
])('an unknown call of Connect is unimplemented: %j', async (headers) => {
  const answer = await begin('/carillon.v1.JobService/Nothing', headers);
  expect(answer.headers).toMatchObject({ ':status': 404, 'content-type': 'application/json' });
  expect(JSON.parse(answer.body)).toMatchObject({
    code: 'unimplemented',
    message: 'There is no call /carillon.v1.JobService/Nothing.',
    details: [{ type: 'carillon.v1.ErrorDetail', debug: { code: 'route_not_found' } }],
  });
});

test.each(Object.keys(PROTOCOLS) as ProtocolName[])(
  'clients understand that a call is not served, over %s',
  async (protocol) => {
    const transport = PROTOCOLS[protocol](address, []);
    const method = { ...rpc.JobService.method.getJob, name: 'Nothing' };
    const call = transport.unary(method, undefined, undefined, undefined, { jobId: 'x' });
    expect(await refusalOf(call)).toMatchObject({
      status: Code.Unimplemented,
      message: 'There is no call /carillon.v1.JobService/Nothing.',
      detail: { code: 'route_not_found' },
    });
  },
);

test('paths of REST, and plain JSON, are answered as ever', async () => {
  const grpc = { 'content-type': 'application/grpc' };
  const ask = (path: string, headers: Record<string, string>) =>
    fetch(`${address}${path}`, { method: 'POST', headers, body: 'x' });
  const key = { authorization: `Bearer ${KEY}` };
  expect((await ask('/api/jobs', { ...grpc, ...key })).status).toBe(415);
  expect((await ask('/api/nothing', { ...grpc, ...key })).status).toBe(404);
  const plain = await ask('/nothing', { 'content-type': 'application/json' });
  expect([plain.status, plain.headers.get('content-type')]).toEqual([
    404,
    expect.stringContaining('problem'),
  ]);
});

test('a body that is refused or breaks off over HTTP/2 leaves no warning and no error behind', async () => {
  const session = connect(address);
  const headers = {
    ':method': 'POST',
    ':path': '/api/jobs',
    'content-type': 'application/json',
    authorization: `Bearer ${KEY}`,
  };
  const refused = session.request(headers);
  refused.end('{');
  const status = await new Promise((resolve) => refused.once('response', (got) => resolve(got[':status'])));
  expect(status).toBe(400);
  for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR]) {
    const broken = session.request(headers);
    broken.on('error', () => undefined);
    broken.write('{');
    await new Promise((resolve) => session.ping(resolve));
    await new Promise((resolve) => broken.once('close', resolve).close(code));
  }
  await new Promise((resolve) => session.ping(resolve));
  session.destroy();
  expect(gateway.errors).toEqual([]);
  expect(warnings.filter((warning) => warning.startsWith('UnsupportedWarning'))).toEqual([]);
});
