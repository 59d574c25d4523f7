/** Signing keys over REST: what is made, how one replaces another, and what is refused. */
import { beforeEach, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const KEYS = '/api/namespaces/default/signing-keys';
let gateway: GatewayFixture;

beforeEach(() => {
  gateway = new GatewayFixture();
});

const make = (payload: object = {}, url = KEYS) => gateway.ask('POST', url, { payload });
const ends = async () => {
  const { body } = await gateway.ask('GET', KEYS);
  return (body as unknown as { ends_at: string | null }[]).map(({ ends_at }) => ends_at);
};

test('the secret is in the answer to the request that made the key, and nowhere else', async () => {
  const made = await make();
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    namespace: 'default',
    ends_at: null,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const { secret: _, ...rest } = made.body as { secret: string };
  expect((await gateway.ask('GET', KEYS)).body).toEqual([rest]);
});

test('a key with an overlap replaces the others: they end so long after it has begun', async () => {
  await make();
  const begins = gateway.clock.now() + 60_000;
  await make({ starts_at: new Date(begins).toISOString(), overlap_seconds: 3_600 });
  expect(await ends()).toEqual([new Date(begins + 3_600_000).toISOString(), null]);
});

test('a key without an overlap signs beside the others', async () => {
  await make();
  await make();
  expect(await ends()).toEqual([null, null]);
});

test('there are five at most; what has ended makes room', async () => {
  for (let i = 0; i < 5; i += 1) expect((await make()).status).toBe(201);
  expect(await make({ overlap_seconds: 0 })).toMatchObject({
    status: 409,
    body: { code: 'signing_keys_full' },
  });
  const [first] = (await gateway.ask('GET', KEYS)).body as unknown as { signing_key_id: string }[];
  expect((await gateway.ask('DELETE', `/api/signing-keys/${first!.signing_key_id}`)).status).toBe(204);
  expect((await make({ overlap_seconds: 0 })).status).toBe(201);
  expect((await make()).status).toBe(201);
  expect(await ends()).toHaveLength(2);
});

test.each([
  [{ overlap_seconds: -1 }, 'overlap_seconds'],
  [{ overlap_seconds: 1.5 }, 'overlap_seconds'],
  [{ overlap_seconds: 90 * 86_400 + 1 }, 'overlap_seconds'],
  [{ starts_at: 'tomorrow' }, 'starts_at'],
  [{ secret: 'mine' }, 'secret'],
])('%j is refused', async (payload, field) => {
  expect(await make(payload)).toMatchObject({ status: 400, body: { field } });
});

test('a namespace or a key that is not there is not found', async () => {
  const nowhere = '/api/namespaces/nowhere/signing-keys';
  expect(await make({}, nowhere)).toMatchObject({ status: 404, body: { code: 'namespace_not_found' } });
  expect(await gateway.ask('GET', nowhere)).toMatchObject({ status: 404 });
  for (const id of ['01893f2e-7c14-7d00-8a1b-2c3d4e5f6a7b', 'x']) {
    expect(await gateway.ask('DELETE', `/api/signing-keys/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'signing_key_not_found' },
    });
  }
});
