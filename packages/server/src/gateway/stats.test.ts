/** Counts over the interface: what is answered, and that nobody learns of a namespace that they may not read. */
import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const NOW = '2030-01-01T12:00:00.000Z';
const DEAD = { kind: 'dead', reason: 'not_retryable' } as const;

describe('counts over time', () => {
  let gateway: GatewayFixture;

  beforeEach(() => {
    gateway = new GatewayFixture();
  });

  /** A run of a new job in the namespace that ends so. */
  const end = async (namespace: string, error?: string, more: object = {}): Promise<string> => {
    await gateway.namespace(namespace);
    const job = { name: `of ${namespace}`, handler: 'http', payload: { url: 'http://a.test/' } };
    const { body } = await gateway.post('/api/jobs', { ...job, namespace, ...more });
    const batch = await gateway.claimDue();
    const status = error === undefined ? 'SUCCESS' : 'FAILED';
    const next = error === undefined ? ({ kind: 'finish' } as const) : DEAD;
    await gateway.settle(batch, { status, next, ...(error !== undefined && { error }) });
    return body.job_id;
  };
  const get = async (path: string, key?: string) => {
    const answer =
      key === undefined ? gateway.ask('GET', `/api${path}`) : gateway.askWith(key, 'GET', `/api${path}`);
    const { status, body } = await answer;
    expect([status, body]).toEqual([200, expect.anything()]);
    return body;
  };

  it('are answered by the minute for a short span, and by the hour for a long one', async () => {
    await end('default');
    await end('default', 'no');
    expect(await get('/stats')).toMatchObject({ from: '2030-01-01T11:00:00.000Z', bucket: 'minute' });
    expect(await get('/stats?from=15m')).toEqual({
      from: '2030-01-01T11:45:00.000Z',
      to: '2030-01-01T12:01:00.000Z',
      bucket: 'minute',
      buckets: [
        {
          at: NOW,
          ...{
            started: 2,
            succeeded: 1,
            failed: 1,
            timed_out: 0,
            cancelled: 0,
            skipped: 0,
            retried: 0,
            lost: 0,
          },
          start_delay_ms: { p50: 0, p95: 0, p99: 0 },
          duration_ms: { p50: 0, p95: 0, p99: 0 },
        },
      ],
    });
    const hours = await get('/stats?from=2d&handler=http');
    expect(hours).toMatchObject({ bucket: 'hour', buckets: [{ at: NOW, started: 2 }] });
    expect((await get('/stats?from=2d&handler=other')).buckets).toEqual([]);
    expect((await get('/stats?from=1h&bucket=hour')).bucket).toBe('hour');
  });

  it('of a job are counted from its own attempts, also where it is a one-off', async () => {
    const jobId = await end('default', 'row 7 is broken');
    await end('default', 'row 8 is broken');
    await gateway.clock.advance(1_000);
    const { buckets } = await get(`/stats?job_id=${jobId}`);
    expect(buckets).toMatchObject([{ started: 1, failed: 1 }]);
    expect(await get(`/failures?job_id=${jobId}`)).toMatchObject([
      { message: 'row 7 is broken', count: 1, jobs: 1, sample_job_id: jobId, sample_job_name: 'of default' },
    ]);
    expect(await get('/failures')).toMatchObject([
      { count: 2, jobs: 2, namespace: 'default', handler: 'http' },
    ]);
  });

  it('that cannot be answered are refused with the field', async () => {
    const refused = async (query: string) => {
      const { status, body } = await gateway.ask('GET', `/api/stats?${query}`);
      return [status, body.code, body.field];
    };
    expect(await refused('from=3d&bucket=minute')).toEqual([400, 'field_invalid', 'from']);
    expect(await refused('from=1h&to=2h')).toEqual([400, 'field_invalid', 'from']);
    expect(await refused('from=nonsense')).toEqual([400, 'time_invalid', 'from']);
    expect(await refused('bucket=day')).toEqual([400, 'field_invalid', 'bucket']);
    expect(await refused('job_id=1')).toEqual([400, 'field_invalid', 'job_id']);
    expect((await refused('job_id=00000000-0000-7000-8000-000000000000')).slice(0, 2)).toEqual([
      404,
      'job_not_found',
    ]);
    expect((await refused('namespace=none')).slice(0, 2)).toEqual([404, 'namespace_not_found']);
  });

  it('tell nobody of a namespace in which they may not read every run', async () => {
    await end('mine', 'mine broke');
    const theirs = await end('theirs', 'theirs broke');
    await gateway.clock.advance(1_000);
    const key = await gateway.keyWith({ namespace: 'mine' });
    expect((await get('/stats', key)).buckets).toMatchObject([{ failed: 1 }]);
    expect(await get('/failures', key)).toMatchObject([{ namespace: 'mine', count: 1 }]);
    expect(await get('/stats/now', key)).toMatchObject({
      failed_last_hour: 1,
      running: null,
      slots: null,
      workers: null,
    });
    expect((await get('/stats')).buckets).toMatchObject([{ failed: 2 }]);
    expect(await get('/stats/now')).toMatchObject({ failed_last_hour: 2, running: 0, workers: 1 });
    for (const path of [
      '/stats?namespace=theirs',
      '/stats/now?namespace=theirs',
      '/failures?namespace=theirs',
      `/stats?job_id=${theirs}`,
    ])
      expect((await gateway.askWith(key, 'GET', `/api${path}`)).status).toBe(404);
    // Of their own jobs alone: counts do not tell whose runs they are of.
    await gateway.person('mia', [{ namespace: 'theirs', ownOnly: true }]);
    const headers = await gateway.signIn('mia');
    const { status, body } = await gateway.askAs(headers, 'GET', '/api/stats?namespace=theirs');
    expect([status, body.buckets]).toEqual([200, []]);
  });

  it('of very many namespaces are read by the hour, and refused where that is too much', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `n${i}`);
    for (const name of names) await gateway.namespace(name);
    await gateway.person(
      'mia',
      names.map((namespace) => ({ namespace })),
    );
    const headers = await gateway.signIn('mia');
    const ask = (query: string) => gateway.askAs(headers, 'GET', `/api/stats?${query}`);
    expect((await ask('from=1h')).body.bucket).toBe('minute');
    expect((await ask('from=6h')).body.bucket).toBe('hour');
    const { status, body } = await ask('from=6h&bucket=minute');
    expect([status, body.code, body.field]).toEqual([400, 'field_invalid', 'from']);
    expect(body.detail).toContain('60 namespaces');
    expect((await ask('from=6h&bucket=minute&namespace=n1')).body.bucket).toBe('minute');
  });

  it('are answered though counting fails', async () => {
    await end('default');
    await get('/stats');
    await gateway.clock.advance(1_001);
    gateway.storage.stats.countEnded = () => Promise.reject(new Error('the disk is full'));
    await end('default', 'no');
    expect((await get('/stats?from=15m')).buckets).toMatchObject([{ succeeded: 1, failed: 0 }]);
    expect(await get('/stats/now')).toMatchObject({ failed_last_hour: 0 });
    expect(await get('/failures')).toEqual([]);
  });

  it('hide what errors quote from those who may not read payloads', async () => {
    await end('default', 'the card 4242 was refused');
    await gateway.clock.advance(1_000);
    const viewer = await gateway.keyWith({ role: 'viewer' });
    const operator = await gateway.keyWith({ role: 'operator' });
    expect(await get('/failures', operator)).toMatchObject([{ message: 'the card 4242 was refused' }]);
    expect(await get('/failures', viewer)).toMatchObject([{ message: '[hidden]', count: 1 }]);
  });

  it('of now tell what waits, and share an answer for a second', async () => {
    await end('default');
    await gateway.post('/api/jobs', { name: 'waits', handler: 'http', payload: { url: 'http://a.test/' } });
    await gateway.clock.advance(1_000);
    const now = await get('/stats/now');
    expect(now).toEqual({
      as_of: '2030-01-01T12:00:01.000Z',
      ...{ running: 0, slots: 1, workers: 1, oldest_waiting_at: NOW, waiting_at_least: 1 },
      start_delay_ms: { p50: 0, p95: 0, p99: 0 },
      ...{ failed_last_hour: 0, open_dead_letters: 0, unoffered_handlers: expect.any(Array) },
    });
    await gateway.post('/api/jobs', { name: 'waits', handler: 'http', payload: { url: 'http://a.test/' } });
    expect(await get('/stats/now')).toEqual(now);
    await gateway.clock.advance(1_001);
    expect(await get('/stats/now')).toMatchObject({ waiting_at_least: 2 });
  });
});
