/** A namespace that was removed and made again: whoever gets the name next reads nothing of what happened before, over any interface. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NAME_RESTS_MS } from '../../storage/account-store.ts';
import { GatewayFixture } from '../gateway.fixture.ts';

let gateway: GatewayFixture;
let address: string;
let key: string;

const made = (name: string) => gateway.createdId({ name, namespace: 'team', schedule_type: 'IMMEDIATE' });

beforeEach(async () => {
  gateway = new GatewayFixture();
  address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  await gateway.namespace('team');
  const jobId = await made('secret plan');
  await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
  expect((await gateway.ask('DELETE', `/api/jobs/${jobId}?purge=true`)).status).toBe(200);
  expect((await gateway.ask('DELETE', '/api/namespaces/team')).status).toBe(204);
  gateway.clock.advance(NAME_RESTS_MS);
  key = await gateway.keyWith({ namespace: 'team', role: 'admin' });
  await made('own work');
});
afterEach(() => gateway.app.close());

const headers = () => ({ authorization: `Bearer ${key}` });

test('REST, page by page', async () => {
  const { status, body } = await gateway.askWith(key, 'GET', '/api/events');
  expect(status).toBe(200);
  expect(body.map((event: { data: { name: string } }) => event.data.name)).toEqual(['own work']);
  const everything = (await gateway.ask('GET', '/api/events')).body;
  expect(JSON.stringify(everything)).toContain('secret plan');
});

test('RPC, page by page', async () => {
  const answer = await fetch(`${address}/carillon.v1.JobService/ListEvents`, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/json' },
    body: '{"after_id":"0-0-0"}',
  });
  const text = await answer.text();
  expect(text).toContain('own work');
  expect(text).not.toContain('secret plan');
});

test.each([
  ['SSE', '/api/events?last_event_id=0-0-0', { accept: 'text/event-stream' }, undefined],
  [
    'RPC',
    '/carillon.v1.JobService/WatchEvents',
    { 'content-type': 'application/connect+json' },
    envelope('{"afterId":"0-0-0"}'),
  ],
])('a stream of %s that begins before', async (_name, path, type, body) => {
  const given = { ...headers(), ...type };
  const asked = { headers: given, ...(body && { method: 'POST', body: body as Uint8Array<ArrayBuffer> }) };
  const answer = await asTimePasses(fetch(`${address}${path}`, asked));
  const reader = answer.body!.getReader();
  let heard = '';
  while (!heard.includes('own work')) {
    const { value, done } = await asTimePasses(reader.read());
    if (done) throw new Error(`the stream has ended after: ${heard}`);
    heard += Buffer.from(value).toString();
  }
  await reader.cancel();
  expect(heard).not.toContain('secret plan');
});

/** The clock of the feed stands still until it is turned: so does its reading. */
async function asTimePasses<T>(happens: Promise<T>): Promise<T> {
  let waiting = true;
  const done = () => {
    waiting = false;
  };
  happens.then(done, done);
  while (waiting) {
    await new Promise((resolve) => setImmediate(resolve));
    gateway.clock.advance(300);
  }
  return happens;
}

function envelope(json: string): Buffer {
  const message = Buffer.from(json);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
