import { describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { fixedPort } from '../../../../tests/support/processes.ts';
import { Carillon } from '../carillon.ts';
import { CarillonError } from '../carillon-error.ts';
import { json, scriptedServer } from '../scripted-server.fixture.ts';

const JOB = { job_id: '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f', status: 'submitted' };
const AWAY = json(503, { code: 'storage_unavailable', detail: 'away' }, { 'retry-after': '0' });

async function failureOf(call: Promise<unknown>): Promise<CarillonError> {
  const error = await call.then(
    () => expect.fail('it must fail'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CarillonError);
  return error as CarillonError;
}

describe('what may be repeated', () => {
  test('reading is tried again while the server is away', async () => {
    const { url, asked } = await scriptedServer(AWAY, AWAY, json(200, { job_id: 'x' }));
    const job = await new Carillon({ url }).jobs.get('x');
    expect(job).toEqual({ job_id: 'x' });
    expect(asked).toHaveLength(3);
  });

  test('creating is tried again under the same key, so that it is done once', async () => {
    const { url, asked } = await scriptedServer(AWAY, json(201, JOB));
    expect(await new Carillon({ url }).jobs.create({ name: 'x' })).toEqual({ ...JOB, created: true });
    const keys = asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test('users and namespaces are made under a key too; an API key is not, for it is shown only once', async () => {
    const { url, asked } = await scriptedServer(AWAY, json(201, {}), AWAY, json(201, {}), AWAY);
    const carillon = new Carillon({ url });
    await carillon.users.create({ name: 'ada' });
    await carillon.namespaces.create({ name: 'billing' });
    const keys = asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([keys[0], keys[0], keys[2], keys[2]]);
    expect(new Set(keys).size).toBe(2);
    expect(keys).not.toContain(undefined);
    await failureOf(carillon.keys.create({ name: 'ci', role: 'viewer' }));
    expect(asked).toHaveLength(5);
    expect(asked[4]?.headers['idempotency-key']).toBeUndefined();
  });

  test('a key of the caller is kept', async () => {
    const { url, asked } = await scriptedServer(json(201, JOB));
    await new Carillon({ url }).jobs.create({ name: 'x' }, { idempotencyKey: 'order-17' });
    expect(asked[0]?.headers['idempotency-key']).toBe('order-17');
  });

  test('what is neither is not: the server may have done it', async () => {
    const { url, asked } = await scriptedServer(AWAY);
    const error = await failureOf(new Carillon({ url }).jobs.pause('x'));
    expect(error).toMatchObject({ code: 'storage_unavailable', status: 503 });
    expect(asked).toHaveLength(1);
  });

  test('a request that was not even counted is sent again, whatever it asks', async () => {
    const limited = json(429, { code: 'rate_limited', detail: 'slow down' }, { 'retry-after': '0' });
    const { url, asked } = await scriptedServer(limited, json(200, { job_id: 'x', status: 'paused' }));
    await new Carillon({ url }).jobs.pause('x');
    expect(asked).toHaveLength(2);
  });

  test('a connection that was refused is tried again, whatever it asks: nobody has heard it', async () => {
    let tries = 0;
    const counted: typeof fetch = (...call) => {
      tries += 1;
      return fetch(...call);
    };
    const url = `http://127.0.0.1:${await fixedPort()}`;
    const error = await failureOf(new Carillon({ url, fetch: counted, retriesMax: 1 }).jobs.pause('x'));
    expect(error.message).toContain('ECONNREFUSED');
    expect(tries).toBe(2);
  });

  test('it ends after as many tries as were allowed', async () => {
    const { url, asked } = await scriptedServer(AWAY);
    await failureOf(new Carillon({ url, retriesMax: 2 }).jobs.get('x'));
    expect(asked).toHaveLength(3);
  });

  test('a server that asks for minutes of patience is reported at once', async () => {
    const { url, asked } = await scriptedServer(json(503, {}, { 'retry-after': '600' }));
    const error = await failureOf(new Carillon({ url }).jobs.get('x'));
    expect(error.retryAfterMs).toBe(600_000);
    expect(asked).toHaveLength(1);
  });

  test('a refusal is never repeated', async () => {
    const { url, asked } = await scriptedServer(json(404, { code: 'job_not_found', detail: 'no' }));
    await failureOf(new Carillon({ url }).jobs.get('x'));
    expect(asked).toHaveLength(1);
  });
});

describe('how it fails', () => {
  test('a problem document becomes an error with everything in it', async () => {
    const problem = {
      code: 'cron_invalid',
      field: 'cron_expression',
      detail: 'has 1 field',
      fix: 'Write 5 fields.',
      request_id: 'r-1',
    };
    const { url } = await scriptedServer(json(400, problem));
    expect(await failureOf(new Carillon({ url }).jobs.create({ name: 'x' }))).toMatchObject({
      name: 'CarillonError',
      code: 'cron_invalid',
      field: 'cron_expression',
      message: 'has 1 field',
      fix: 'Write 5 fields.',
      requestId: 'r-1',
      status: 400,
    });
  });

  test('nobody there is told with the address', async () => {
    const error = await failureOf(new Carillon({ url: 'http://127.0.0.1:1', retriesMax: 0 }).jobs.get('x'));
    expect(error).toMatchObject({ code: 'unreachable', status: undefined });
    expect(error.message).toContain('127.0.0.1:1');
  });

  test('an answer that does not come is given up', async () => {
    const { url } = await scriptedServer(() => undefined);
    const error = await failureOf(new Carillon({ url, timeoutMs: 50, retriesMax: 0 }).jobs.get('x'));
    expect(error.code).toBe('timed_out');
  });

  test('an abort ends at once with the reason of the caller, between tries too', async () => {
    const { url, asked } = await scriptedServer(json(503, {}, { 'retry-after': '30' }));
    const controller = new AbortController();
    const call = new Carillon({ url }).jobs.get('x', { signal: controller.signal });
    const reason = new Error('enough');
    const ended = expect(call).rejects.toBe(reason);
    await eventually(() => expect(asked).toHaveLength(1), { withinMs: 60_000 });
    controller.abort(reason);
    await ended;
    expect(asked).toHaveLength(1);
  });

  test('a page of some proxy is not taken for an answer', async () => {
    const { url } = await scriptedServer((_asked, response) => response.end('<html>hello</html>'));
    expect((await failureOf(new Carillon({ url }).jobs.get('x'))).code).toBe('answer_unreadable');
  });

  test('a redirect is not followed: the key would go along', async () => {
    const { url, asked } = await scriptedServer((_asked, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
    });
    const client = new Carillon({ url, key: 'ck_secret', retriesMax: 0 });
    expect((await failureOf(client.jobs.get('x'))).code).toBe('unreachable');
    expect(asked).toHaveLength(1);
  });

  test('an address that is none is refused before anything is sent', () => {
    expect(() => new Carillon({ url: 'localhost:7420' })).toThrow(/not an address/);
  });
});

test('ids are put into paths as data, never as part of the path', async () => {
  const { url, asked } = await scriptedServer(json(200, {}));
  await new Carillon({ url, key: 'ck_1' }).jobs.get('../users?x=1');
  expect(asked[0]).toMatchObject({ path: '/api/jobs/..%2Fusers%3Fx%3D1' });
  expect(asked[0]?.headers.authorization).toBe('Bearer ck_1');
});

test('a server behind a path of a proxy is reached there', async () => {
  const { url, asked } = await scriptedServer(json(200, {}));
  await new Carillon({ url: `${url}/carillon/` }).jobs.get('x');
  expect(asked[0]?.path).toBe('/carillon/api/jobs/x');
});

test('more than a thousand jobs are sent in parts, each under a key of its own', async () => {
  const { url, asked } = await scriptedServer(({ body }, response) => {
    const { jobs } = JSON.parse(body) as { jobs: unknown[] };
    response.end(JSON.stringify(jobs.map(() => JOB)));
  });
  const jobs = Array.from({ length: 2_500 }, (_, i) => ({ name: `job ${i}` }));
  expect(await new Carillon({ url }).jobs.createMany(jobs)).toHaveLength(2_500);
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(3);
});
