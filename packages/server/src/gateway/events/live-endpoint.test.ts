/** GET /api/live as a page asks for it: what it hears, when it ends, and what is refused. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { GatewayFixture, KEY } from '../gateway.fixture.ts';

const soon = { withinMs: 60_000 };

async function opened(fixture: GatewayFixture) {
  await fixture.app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => fixture.app.close());
  return (fixture.app.server.address() as AddressInfo).port;
}

async function follow(port: number, path = '/api/live', headers: Record<string, string> = {}) {
  const asked = get({
    ...{ port, path, host: '127.0.0.1' },
    headers: { accept: 'text/event-stream', authorization: `Bearer ${KEY}`, ...headers },
  });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const state = { text: '', isEnded: false };
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    state.text += chunk;
  });
  response.on('end', () => {
    state.isEnded = true;
  });
  response.on('error', () => undefined);
  const updates = () => [...state.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!));
  return { response, state, updates, close: () => asked.destroy() };
}

describe('live updates', () => {
  it('come as a stream that says where it is, then what changed', async () => {
    const fixture = new GatewayFixture();
    const stream = await follow(await opened(fixture));
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    await eventually(() => expect(stream.updates()).toHaveLength(1), soon);
    const { body: job } = await fixture.post('/api/jobs', { name: 'x', handler: 'default' });
    await eventually(() => {
      fixture.clock.advance(1_000);
      expect(stream.updates()).toHaveLength(2);
    }, soon);
    const [hello, update] = stream.updates();
    expect(hello).toMatchObject({ refetch: false, changed: { jobs: [], runs: [] } });
    expect(update).toMatchObject({
      ...{ id: expect.any(String), as_of: expect.any(String), refetch: false },
      changed: { jobs: [job.job_id], runs: [], workers: false, dead_letters: false },
    });
    expect(stream.state.text).toContain(`id: ${update.id}\ndata: `);
    stream.close();
    await eventually(() => expect(fixture.events.counts().listeners).toBe(0), soon);
  });

  it('end when the server stops, and give their place back', async () => {
    const fixture = new GatewayFixture();
    const stream = await follow(await opened(fixture));
    await eventually(() => expect(stream.updates()).toHaveLength(1), soon);
    await fixture.app.close();
    await eventually(() => expect(stream.state.isEnded).toBe(true), soon);
    expect(fixture.events.counts().listeners).toBe(0);
  });

  it('are one answer for programs that ask for JSON, from where they were', async () => {
    const fixture = new GatewayFixture();
    const { body: first } = await fixture.ask('GET', '/api/live');
    expect(first).toMatchObject({ refetch: false, changed: { jobs: [] } });
    const { body: job } = await fixture.post('/api/jobs', { name: 'x', handler: 'default' });
    const { body: second } = await fixture.ask('GET', `/api/live?last_event_id=${first.id}`);
    expect(second.changed.jobs).toEqual([job.job_id]);
    const again = await fixture.ask('GET', '/api/live', { headers: { 'last-event-id': second.id } });
    expect(again.body.changed.jobs).toEqual([]);
  });

  it.each([
    ['?watch=nonsense', 'watch'],
    [
      `?watch=${Array.from({ length: 201 }, () => '00000000-0000-7000-8000-00000000000a').join(',')}`,
      'watch',
    ],
    ['?last_event_id=x', 'last_event_id'],
    ['?nonsense=1', 'nonsense'],
  ])('%s is refused', async (query, field) => {
    const { status, body } = await new GatewayFixture().ask('GET', `/api/live${query}`);
    expect([status, body.field]).toEqual([400, field]);
  });

  it('of a namespace that is not there are refused, before a stream begins', async () => {
    const fixture = new GatewayFixture();
    const headers = { accept: 'text/event-stream' };
    const { status, body } = await fixture.ask('GET', '/api/live?namespace=nowhere', { headers });
    expect([status, body.code]).toEqual([404, 'namespace_not_found']);
    expect(fixture.events.counts().listeners).toBe(0);
  });
});
