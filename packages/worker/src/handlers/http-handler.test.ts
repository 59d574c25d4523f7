/** The http handler against a real server on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JobId, JsonObject, RunId } from '@carillon/domain';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimedRun } from '../claimed-run.fixture.ts';
import { HandlerError } from '../handler.ts';
import { RunInProgress, type RunInProgressOptions } from '../run-in-progress.ts';
import { createHttpHandler, HTTP_DEFAULTS } from './http-handler.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let port: number;
let requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
let answer: Answer;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  requests = [];
  answer = (_, response) => response.end('fine');
});

const here = (path = '/') => `http://127.0.0.1:${port}${path}`;

function runWith(payload: JsonObject, options: RunInProgressOptions = {}): RunInProgress {
  return new RunInProgress(
    claimedRun({
      jobId: 'job-7' as JobId,
      runId: 'run-9' as RunId,
      attempt: 2,
      epoch: 5,
      nominalAtMs: Date.UTC(2030, 0, 1, 12),
      payload: JSON.stringify(payload),
    }),
    0,
    options,
  );
}

/** Calls and answers the result, or the error as a value. */
async function call(payload: JsonObject, options: Partial<typeof HTTP_DEFAULTS> = {}): Promise<unknown> {
  const handler = createHttpHandler({ ...HTTP_DEFAULTS, ...options });
  return await Promise.resolve(handler(runWith(payload))).catch((error: unknown) => error);
}

function answerWith(status: number, headers: Record<string, string> = {}, body = ''): void {
  answer = (_, response) => response.writeHead(status, headers).end(body);
}

describe('the request', () => {
  test('carries the identity of the run and its fence', async () => {
    await call({ url: here('/hook?x=1') });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/hook?x=1', body: '' });
    expect(requests[0]!.headers).toMatchObject({
      'user-agent': 'carillon',
      'idempotency-key': 'run-9',
      'carillon-job-id': 'job-7',
      'carillon-run-id': 'run-9',
      'carillon-attempt': '2',
      'carillon-epoch': '5',
      'carillon-scheduled-at': '2030-01-01T12:00:00.000Z',
    });
  });

  test('cannot be given another identity by the job', async () => {
    const headers = {
      'Idempotency-Key': 'mine',
      'CARILLON-EPOCH': '999',
      'User-Agent': 'my-shop',
      'x-own': 'kept',
    };
    await call({ url: here(), headers });
    expect(requests[0]!.headers).toMatchObject({
      'idempotency-key': 'run-9',
      'carillon-epoch': '5',
      'user-agent': 'my-shop',
      'x-own': 'kept',
    });
  });

  test('sends an object as JSON and a text as it is, with its length', async () => {
    await call({ url: here(), body: { greeting: 'grüß' } });
    await call({ url: here(), body: 'plain', method: 'PUT' });
    expect(requests[0]).toMatchObject({ method: 'POST', body: '{"greeting":"grüß"}' });
    expect(requests[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '21',
    });
    expect(requests[1]).toMatchObject({ method: 'PUT', body: 'plain' });
    expect(requests[1]!.headers).toMatchObject({ 'content-length': '5' });
  });

  test('with a header that would smuggle in another is never sent (hazard 36)', async () => {
    const error = await call({ url: here(), headers: { 'x-a': 'b\r\nx-admin: 1' } });
    expect(error).toMatchObject({ retryable: false });
    expect(requests).toEqual([]);
  });
});

describe('the answer', () => {
  test('is the result: status, type and body', async () => {
    answerWith(201, { 'content-type': 'application/json' }, '{"id":1}');
    expect(await call({ url: here() })).toEqual({
      status: 201,
      content_type: 'application/json',
      body: '{"id":1}',
      truncated: false,
    });
  });

  test('is kept up to its limit, and says that it was cut (hazard 23)', async () => {
    answerWith(200, {}, 'x'.repeat(1_000));
    const exact = await call({ url: here() }, { responseBytesMax: 1_000 });
    expect(exact).toMatchObject({ body: 'x'.repeat(1_000), truncated: false });
    const cut = await call({ url: here() }, { responseBytesMax: 999 });
    expect(cut).toMatchObject({ body: 'x'.repeat(999), truncated: true });
  });

  test('that never ends is not read for ever', async () => {
    const chunk = Buffer.alloc(256 * 1024, 'x');
    answer = (_, response) => {
      const pour = () => {
        if (!response.destroyed) response.write(chunk, () => setImmediate(pour));
      };
      pour();
    };
    expect(await call({ url: here() }, { responseBytesMax: 10 })).toMatchObject({
      body: 'xxxxxxxxxx',
      truncated: true,
    });
  });

  test('is judged by the status the job expects', async () => {
    answerWith(404);
    expect(await call({ url: here(), expect_status: [200, 404] })).toMatchObject({ status: 404 });
    answerWith(200);
    expect(await call({ url: here(), expect_status: 204 })).toMatchObject({
      message: 'the server answered 200',
    });
  });

  test.each([400, 401, 403, 404, 405, 410, 422, 451])(
    '%d says that trying again is useless',
    async (status) => {
      answerWith(status, {}, 'why');
      const error = await call({ url: here() });
      expect(error).toBeInstanceOf(HandlerError);
      expect(error).toMatchObject({
        message: `the server answered ${status}: why`,
        retryable: false,
        result: { status, body: 'why' },
      });
    },
  );

  test.each([408, 409, 423, 425, 429, 500, 502, 503, 504])('%d may be tried again', async (status) => {
    answerWith(status);
    expect(await call({ url: here() })).toMatchObject({ retryable: true, retryAfterMs: undefined });
  });

  test.each([
    ['seconds', '120', 120_000],
    ['more than a day', '999999', 24 * 3_600_000],
    ['nothing', '', undefined],
    ['no time at all', '-5', undefined],
    ['a date that has passed', 'Wed, 21 Oct 2015 07:28:00 GMT', undefined],
    ['a word', 'soon', undefined],
  ])('may ask for a pause of %s', async (_, value, retryAfterMs) => {
    answerWith(503, { 'retry-after': value });
    expect(await call({ url: here() })).toMatchObject({ retryAfterMs });
  });

  test('may ask for a pause until a date', async () => {
    answerWith(429, { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() });
    const { retryAfterMs } = (await call({ url: here() })) as HandlerError;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test('that redirects is not followed: where it points was never checked (hazard 36)', async () => {
    answerWith(302, { location: here('/elsewhere') });
    expect(await call({ url: here('/first') })).toMatchObject({
      message: `the server answered 302: a redirect to ${here('/elsewhere')}. Redirects are not followed: put the final address into payload.url, or accept the status with payload.expect_status`,
      retryable: false,
    });
    expect(requests.map((request) => request.url)).toEqual(['/first']);
  });
});

describe('the words of a refused request', () => {
  test('show the beginning of the body, on one line', async () => {
    answerWith(500, {}, `  <h1>Broken</h1>\r\n\u001b[31m${'x'.repeat(500)}`);
    const { message } = (await call({ url: here() })) as HandlerError;
    expect(message).toMatch(/^the server answered 500: <h1>Broken<\/h1> \[31mx+…$/);
    expect(message.length).toBeLessThan(250);
  });

  test('are the status alone when the body is empty or cannot be shown', async () => {
    answerWith(500);
    expect(await call({ url: here() })).toMatchObject({ message: 'the server answered 500' });
    answer = (_, response) => response.writeHead(500).end(Buffer.from([0, 1, 0xff, 0xfe]));
    expect(await call({ url: here() })).toMatchObject({ message: 'the server answered 500' });
  });

  test('of a redirect without a location are the status', async () => {
    answerWith(304);
    expect(await call({ url: here() })).toMatchObject({ message: 'the server answered 304' });
  });
});

describe('a call that comes to nothing', () => {
  test('because nobody listens may be tried again', async () => {
    const error = await call({ url: 'http://127.0.0.1:1/' });
    expect(error).toBeInstanceOf(HandlerError);
    expect(error).toMatchObject({
      retryable: true,
      message:
        'GET http://127.0.0.1:1 failed: nothing listens at that address and port, or a firewall refuses connections (ECONNREFUSED)',
    });
  });

  test('because the other side does not speak TLS says so', async () => {
    const error = await call({ url: `https://127.0.0.1:${port}/` });
    expect(error).toMatchObject({ message: expect.stringMatching(/does not speak TLS on that port/) });
  });

  test('because the name is not known says so', async () => {
    const error = await call({ url: 'http://nowhere.invalid/' });
    expect(error).toMatchObject({
      message: expect.stringMatching(/the name of the host is not known.*ENOTFOUND/),
      retryable: true,
    });
  });

  test('because the answer is not HTTP says so', async () => {
    answer = (request) => request.socket.end('SSH-2.0-OpenSSH\r\n');
    expect(await call({ url: here() })).toMatchObject({
      message: expect.stringMatching(/answer is not HTTP/),
    });
  });

  test('because the connection breaks may be tried again', async () => {
    answer = (request) => request.socket.destroy();
    expect(await call({ url: here() })).toMatchObject({
      retryable: true,
      message: expect.stringMatching(/closed the connection before it had answered \(ECONNRESET\)/),
    });
  });

  test('because the answer breaks off is an error', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    };
    expect(await call({ url: here() })).toBeInstanceOf(Error);
  });

  test('because the run was told to stop ends at once, before or during the answer', async () => {
    for (const begin of [false, true]) {
      const arrived = Promise.withResolvers<void>();
      answer = (_, response) => {
        if (begin) response.write('half', () => arrived.resolve());
        else arrived.resolve();
      };
      const run = runWith({ url: here() });
      const outcome = Promise.resolve(createHttpHandler()(run)).catch((error: unknown) => error);
      await arrived.promise;
      run.requestStop('cancelled', 'no longer wanted', 0);
      expect(await outcome).toBeInstanceOf(Error);
    }
  });

  test('because the run was told to stop before it began never reaches the server', async () => {
    const run = runWith({ url: here() });
    run.requestStop('cancelled', 'no longer wanted', 0);
    await expect(createHttpHandler()(run)).rejects.toThrow();
    expect(requests).toEqual([]);
  });

  test('because the run was lost while it connected writes nothing, over a new connection or a kept one (hazard 14)', async () => {
    const handler = createHttpHandler();
    let connections = 0;
    const count = () => {
      connections += 1;
    };
    server.on('connection', count);
    const lost = () => runWith({ url: here() }, { holds: () => false });
    await expect(handler(lost())).rejects.toThrow('taken back before it was called');
    expect(connections).toBe(1);
    await handler(runWith({ url: here('/kept') }));
    await expect(handler(lost())).rejects.toThrow('taken back before it was called');
    server.off('connection', count);
    expect(requests.map(({ url }) => url)).toEqual(['/kept']);
  });
});

describe('networks that no job may call (hazard 36)', () => {
  const denying = (...denyNetworks: string[]) => ({ egress: { ...HTTP_DEFAULTS.egress, denyNetworks } });
  const at = (host: string) => `http://${host}:${port}/`;

  test.each([
    ['a literal address', '127.0.0.1'],
    ['another of the same network', '127.9.9.9'],
    ['an address written as one number', '2130706433'],
    ['an address in hexadecimal', '0x7f000001'],
    ['an address with parts left out', '127.1'],
    ['a literal IPv6 address', '[::1]'],
    ['an IPv4 address in octal', '0177.0.0.1'],
    ['an IPv4-mapped address', '[::ffff:127.0.0.1]'],
    ['an IPv4-compatible address', '[::127.0.0.1]'],
    ['a NAT64 address', '[64:ff9b::7f00:1]'],
    ['a 6to4 address', '[2002:7f00:1::]'],
    ['a name that resolves to one', 'localhost'],
  ])('are refused for good by %s', async (_, host) => {
    const error = await call({ url: at(host) }, denying('127.0.0.0/8', '::1/128'));
    expect(error).toMatchObject({ retryable: false, message: expect.stringMatching(/are not allowed here/) });
    expect(requests).toEqual([]);
  });

  test('are by default those where cloud machines keep their credentials', async () => {
    for (const host of ['169.254.169.254', '[fd00:ec2::254]', '[fe80::1]', '[::ffff:169.254.169.254]'])
      expect(await call({ url: `http://${host}/latest/meta-data` })).toMatchObject({ retryable: false });
  });

  test('leave the others alone', async () => {
    expect(await call({ url: here() }, denying('10.0.0.0/8'))).toMatchObject({ status: 200 });
    expect(await call({ url: at('localhost') })).toMatchObject({ status: 200 });
  });

  test('are checked again for the address of the connection: what a name means may have changed', async () => {
    let asked = 0;
    const own = () => (asked++ === 0 ? [] : [{ host: '127.0.0.1', port }]);
    const error = await call({ url: here() }, { own });
    expect(error).toMatchObject({ retryable: false, message: expect.stringMatching(/Carillon itself/) });
    expect(asked).toBe(2);
    expect(requests).toEqual([]);
  });

  test('may be those of Carillon by name, which answers a job what it answers a stranger', async () => {
    const own = () => [{ host: 'localhost', port, openPaths: ['/health/live'] }];
    expect(await call({ url: at('localhost') }, { own })).toMatchObject({ retryable: false });
    expect(await call({ url: `${at('localhost')}health/live` }, { own })).toMatchObject({ status: 200 });
  });

  test('may be one address without a prefix', async () => {
    const error = await call({ url: here() }, denying('127.0.0.1'));
    expect(error).toMatchObject({ retryable: false });
  });
});
