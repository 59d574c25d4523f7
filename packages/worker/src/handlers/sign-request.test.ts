import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@carillon/domain';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimedRun } from '../claimed-run.fixture.ts';
import { RunInProgress } from '../run-in-progress.ts';
import { createHttpHandler, HTTP_DEFAULTS } from './http-handler.ts';
import { signatureHeaders } from './sign-request.ts';

let server: Server;
let requests: { headers: IncomingHttpHeaders; body: string }[];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  requests = [];
});

const here = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const parts = { runId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', atMs: 1_614_265_330_999 };
const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

test('a request is signed as Standard Webhooks describes it: the example of its specification', () => {
  const body = Buffer.from('{"test": 2432232314}');
  expect(signatureHeaders({ ...parts, body }, [secret])).toEqual({
    'webhook-id': parts.runId,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('every key signs, in order; without one nothing is added', () => {
  const { 'webhook-signature': both } = signatureHeaders({ ...parts, body: undefined }, [
    secret,
    Buffer.from('b'),
  ]);
  const { 'webhook-signature': first } = signatureHeaders({ ...parts, body: undefined }, [secret]);
  expect(both?.split(' ')).toEqual([first, expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)]);
  expect(signatureHeaders({ ...parts, body: undefined }, [])).toEqual({});
});

describe('a signed request', () => {
  const signedRun = (payload: JsonObject) =>
    new RunInProgress(claimedRun({ payload: JSON.stringify(payload), namespace: 'billing' }), 0);

  test('carries a signature of every key of its namespace, over the body as it was sent', async () => {
    const asked: string[] = [];
    const keys = [Buffer.from('one'), Buffer.from('two')];
    const signingSecrets = async (namespace: string) => {
      asked.push(namespace);
      return keys;
    };
    const headers = { 'Webhook-Signature': 'v1,forged' };
    await createHttpHandler({ ...HTTP_DEFAULTS, signingSecrets })(
      signedRun({ url: here(), headers, body: { greeting: 'grüß' } }),
    );
    const [{ headers: sent, body } = expect.fail()] = requests;
    expect(asked).toEqual(['billing']);
    const signed = `${sent['webhook-id']}.${sent['webhook-timestamp']}.${body}`;
    const expected = keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
    expect(sent['webhook-signature']).toBe(expected.join(' '));
  });

  test('that cannot be signed is not sent, and tried again', async () => {
    const signingSecrets = () => Promise.reject(new Error('the database is away'));
    const error = await Promise.resolve(
      createHttpHandler({ ...HTTP_DEFAULTS, signingSecrets })(signedRun({ url: here() })),
    ).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'the request could not be signed', retryable: true });
    expect(requests).toEqual([]);
  });

  test('is one of a namespace with keys alone: a job cannot bring a signature of its own', async () => {
    await createHttpHandler()(
      signedRun({ url: here(), headers: { 'Webhook-Signature': 'v1,forged', 'Carillon-Own': 'x' } }),
    );
    expect(requests[0]!.headers).not.toHaveProperty('webhook-signature');
    expect(requests[0]!.headers).not.toHaveProperty('carillon-own');
  });
});
