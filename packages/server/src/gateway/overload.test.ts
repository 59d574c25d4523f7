/** More jobs are offered than the storage takes: whoever comes now is refused at once, and nothing that was taken is lost. */
import { expect, test, vi } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { DirectIngest } from '../ingest/direct-ingest.ts';
import { GatewayFixture } from './gateway.fixture.ts';

const BATCH_JOBS = 200;
const BATCHES = 5;
const JOB = { name: 'job', frequency: 'daily' };

test('a job that would wait behind many others is refused early, with when to come again', async () => {
  const gateway = new GatewayFixture();
  const { jobs } = gateway.storage;
  const insert = jobs.insert.bind(jobs);
  const slow = Promise.withResolvers<void>();
  jobs.insert = async (...given) => {
    await slow.promise;
    return insert(...given);
  };
  const taken = vi.spyOn(DirectIngest.prototype, 'acceptAll');
  try {
    const batch = { jobs: Array.from({ length: BATCH_JOBS }, () => JOB) };
    const waiting = Array.from({ length: BATCHES }, () => gateway.post('/api/jobs/batch', batch));
    await eventually(() => expect(taken).toHaveBeenCalledTimes(BATCHES), { withinMs: 60_000 });
    // Two fifths are being written, and the others wait; not for long yet.
    gateway.clock.advance(250);

    const overloaded = { status: 503, body: { code: 'overloaded' }, headers: { 'retry-after': '1' } };
    expect(await gateway.post('/api/jobs', JOB)).toMatchObject(overloaded);
    expect(await gateway.post('/api/jobs/batch', { jobs: [JOB] })).toMatchObject(overloaded);
    // Reading goes on.
    expect((await gateway.ask('GET', '/api/jobs?limit=1')).status).toBe(200);

    slow.resolve();
    for (const answer of await Promise.all(waiting)) {
      expect(answer.status).toBe(200);
      expect(answer.body.every(({ outcome }: { outcome: string }) => outcome === 'submitted')).toBe(true);
    }
    expect((await gateway.post('/api/jobs', JOB)).status).toBe(201);
    expect((await gateway.ask('GET', '/api/jobs?limit=1000&page=2')).body).toHaveLength(1);
  } finally {
    taken.mockRestore();
    await gateway.app.close();
  }
});
