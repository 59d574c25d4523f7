/** Dead letters over REST: read one by one, and redriven by a filter or by ids. */
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

const NOBODY = '00000000-0000-7000-8000-000000000000';
const cron = { cron_expression: '0 9 * * *' };

describe('dead letters', () => {
  const die = async (name: string) => {
    const jobId = await gateway.createdId({ name, ...cron });
    const { body } = await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
    const dead = {
      status: 'FAILED',
      next: { kind: 'dead', reason: 'retries_exhausted' },
      error: 'no',
    } as const;
    await gateway.settle(await gateway.claimDue(), dead);
    return body.run_id as string;
  };

  test('are read one by one and sent round in bulk, once', async () => {
    const runs = [await die('b'), await die('a')];
    const one = await gateway.ask('GET', `/api/dead-letters/${runs[0]}`);
    expect(one.body).toMatchObject({ run_id: runs[0], job_name: 'b', error_message: 'no' });
    const redrive = (body: object) => gateway.post('/api/dead-letters/redrive', body);
    const filter = { reason: 'retries_exhausted' };
    expect((await redrive({ filter, dry_run: true })).body).toMatchObject({ matched: 2, redriven: 0 });
    const part = await redrive({ filter, limit: 1 });
    expect(part.body).toMatchObject({ matched: 1, redriven: 1, next: expect.any(String) });
    const rest = await redrive({ filter, before: part.body.next });
    expect(rest.body).toMatchObject({ matched: 1, redriven: 1, next: null });
    expect((await redrive({ filter })).body).toMatchObject({ matched: 0, redriven: 0 });
    expect((await gateway.ask('GET', '/api/dead-letters?redriven=false')).body).toEqual([]);
    expect((await gateway.ask('GET', '/api/dead-letters?redriven=true')).body).toHaveLength(2);
    expect((await redrive({ filter: { reason: 'bad luck' } })).body).toMatchObject({
      field: 'filter.reason',
    });
  });

  test('are narrowed by a part of their error, for those who may read what errors quote', async () => {
    const runId = await die('a');
    const found = async (query: string) => {
      const { body } = await gateway.ask('GET', `/api/dead-letters?${query}`);
      return body.map((letter: { run_id: string }) => letter.run_id);
    };
    expect(await found('error=NO')).toEqual([runId]);
    expect(await found('error=yes')).toEqual([]);
    const redrive = (filter: object) => gateway.post('/api/dead-letters/redrive', { filter, dry_run: true });
    expect((await redrive({ error: 'no' })).body).toMatchObject({ matched: 1 });
    expect((await redrive({ error: 'yes' })).body).toMatchObject({ matched: 0 });
    const key = await gateway.keyWith(
      { role: 'operator' },
      { scopes: ['dead_letters.read', 'dead_letters.redrive'] },
    );
    const ask = (query: string) => gateway.askWith(key, 'GET', `/api/dead-letters?${query}`);
    expect((await ask('')).body).toHaveLength(1);
    expect(await ask('error=no')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    const payload = { filter: { error: 'no' }, dry_run: true };
    const refused = await gateway.askWith(key, 'POST', '/api/dead-letters/redrive', { payload });
    expect(refused.status).toBe(403);
  });

  test('are sent round by their ids, with what became of each', async () => {
    const [one, other, ofCancelled] = [await die('a'), await die('b'), await die('c')];
    const { body: letter } = await gateway.ask('GET', `/api/dead-letters/${ofCancelled}`);
    await gateway.ask('DELETE', `/api/jobs/${letter.job_id}`);
    const redrive = (body: object) => gateway.post('/api/dead-letters/redrive', body);
    const run_ids = [one, one, NOBODY, ofCancelled];
    const unknown = { run_id: NOBODY, outcome: 'refused', error: { code: 'dead_letter_not_found' } };
    const cancelled = { run_id: ofCancelled, outcome: 'refused', error: { code: 'job_cancelled' } };
    expect((await redrive({ run_ids, dry_run: true })).body).toMatchObject({
      ...{ matched: 2, redriven: 0, unchanged: 0, refused: 2, next: null },
      results: [unknown, cancelled],
    });
    const { body } = await redrive({ run_ids });
    const newRun = expect.any(String);
    expect(body).toMatchObject({
      ...{ matched: 2, redriven: 1, unchanged: 0, refused: 2 },
      results: [{ run_id: one, outcome: 'redriven', new_run_id: newRun, error: null }, unknown, cancelled],
    });
    const before = { ...body.results[0], outcome: 'unchanged' };
    const again = await redrive({ run_ids: [one!.toUpperCase(), other] });
    expect(again.body).toMatchObject({
      ...{ redriven: 1, unchanged: 1 },
      results: [before, { run_id: other, outcome: 'redriven' }],
    });
  });

  test('are meant by a filter or by ids', async () => {
    const run_ids = [NOBODY];
    for (const [body, refusal] of [
      [{}, { code: 'field_missing', field: 'filter' }],
      [{ filter: {}, run_ids }, { field: 'run_ids' }],
      [{ run_ids, cursor: 'x' }, { field: 'cursor' }],
      [{ run_ids, before: 'x' }, { field: 'cursor' }],
      [{ run_ids, limit: 1 }, { field: 'limit' }],
      [{ run_ids: [] }, { field: 'run_ids' }],
      [{ run_ids: Array(1_001).fill(NOBODY) }, { field: 'run_ids' }],
    ] as const) {
      const answer = await gateway.post('/api/dead-letters/redrive', body);
      expect(answer, JSON.stringify(body).slice(0, 80)).toMatchObject({ status: 400, body: refusal });
    }
  });
});
