/** Two gateways on one database: whoever applies a key first makes the job, and both end up with the same one. */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { GatewayFixture } from './gateway.fixture.ts';

const KEYS = Array.from({ length: 12 }, (_, i) => `report-${i}`);
const JOB = {
  cron_expression: '0 9 * * *',
  // In another order than the database keeps it.
  payload: { zeta: 1, a: [1.5, { long_name: null, b: 'é' }] },
  labels: { zone: 'b', area: 'a' },
  retry: { strategy: 'fixed', delay_seconds: 5 },
  misfire: { policy: 'all', max_runs: 3 },
};

describeOldestPostgres('keys of jobs', (server) => {
  let database: TestDatabase;
  let storages: PostgresStorage[];
  let gateways: [GatewayFixture, GatewayFixture];
  let client: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    storages = [openTestStorage(database.url), openTestStorage(database.url)];
    const [one, two] = storages.map((storage) => {
      class StoredGateway extends GatewayFixture {
        protected override makeStorage(): Storage {
          return storage;
        }
      }
      return new StoredGateway();
    });
    gateways = [one!, two!];
    // Both count from the same seed: their ids must not be the same.
    for (let i = 0; i < 1_000; i += 1) gateways[1].random.id();
    await storages[0]!.housekeeping.makePartitions({ nowMs: gateways[0].clock.now(), aheadDays: 2 });
  });

  afterEach(async () => {
    await client.end();
    await Promise.all(storages.map((storage) => storage.close()));
    await database.drop();
  });

  const put = async (gateway: GatewayFixture, key: string, payload: object, query = '') =>
    gateway.ask('PUT', `/api/jobs/by-key/${key}${query}`, { payload });
  const everywhere = (payload: object) =>
    Promise.all(KEYS.flatMap((key) => gateways.map((gateway) => put(gateway, key, payload))));
  const traces = async () => {
    const audit = await gateways[0].storage.audit.list({ limit: 200 });
    // The rows themselves: a reader of events waits for every older transaction of the whole server, other databases included.
    const events = await client.query<{ count: number }>('SELECT count(*)::integer AS count FROM events');
    return { audit: audit.length, events: events.rows[0]!.count };
  };

  it('a change to what the job is already makes no version, however the database keeps its payload', async () => {
    const [gateway] = gateways;
    const jobId = await gateway.createdId({ name: 'job', ...JOB });
    for (const body of [{ payload: JOB.payload }, JOB, { name: 'job', ...JOB }]) {
      const { body: job } = await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: body });
      expect(job).toMatchObject({ version: 1, changed: false, outcome: 'updated' });
    }
    const changed = { payload: { ...JOB.payload, zeta: 2 } };
    const { body: job } = await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: changed });
    expect(job).toMatchObject({ version: 2, changed: true });
  });

  it('applied at the same moment make one job each; the same again changes nothing', async () => {
    const made = await everywhere(JOB);
    expect(made.map(({ status }) => status).toSorted()).toEqual([
      ...KEYS.map(() => 200),
      ...KEYS.map(() => 201),
    ]);
    expect(new Set(made.map(({ body }) => body.job_id)).size).toBe(KEYS.length);
    const { body: listed } = await gateways[0].ask('GET', '/api/jobs?key_prefix=report-');
    expect(listed).toHaveLength(KEYS.length);
    const before = await traces();
    // Jobs made together share a row of events.
    expect(before).toEqual({ audit: KEYS.length, events: expect.toSatisfy((rows: number) => rows > 0) });
    const again = await everywhere(JOB);
    expect(new Set(again.map(({ body }) => `${body.outcome} ${body.version}`))).toEqual(
      new Set(['unchanged 1']),
    );
    expect(await traces()).toEqual(before);
  });

  it('changed at the same moment are changed once', async () => {
    await everywhere(JOB);
    const changed = await everywhere({ ...JOB, priority: 'high' });
    expect(changed.map(({ body }) => body.outcome).toSorted()).toEqual([
      ...KEYS.map(() => 'unchanged'),
      ...KEYS.map(() => 'updated'),
    ]);
    expect(new Set(changed.map(({ body }) => body.version))).toEqual(new Set([2]));
  });

  it('applied and removed at the same moment are there or not, and the key is never stuck', async () => {
    const [one, two] = gateways;
    for (let round = 0; round < 5; round += 1) {
      const { body } = await put(one, 'moving', JOB);
      const [applied] = await Promise.all([
        put(two, 'moving', { ...JOB, priority: 'high' }),
        one.ask('DELETE', `/api/jobs/${body.job_id}?purge=true`),
      ]);
      expect([200, 201, 404, 409]).toContain(applied.status);
      expect([200, 201]).toContain((await put(two, 'moving', JOB)).status);
    }
  });

  it('a cancelled job comes back with a plan, and fires on', async () => {
    const [one, two] = gateways;
    const { body: made } = await put(one, 'back', JOB);
    await one.ask('DELETE', `/api/jobs/${made.job_id}`);
    const { body: back } = await put(two, 'back', JOB);
    expect(back).toMatchObject({ outcome: 'updated', status: 'SCHEDULED', job_id: made.job_id });
    expect(back.changes).toEqual([{ field: 'status', before: 'CANCELLED', after: 'SCHEDULED' }]);
    expect((await one.cursorOf(made.job_id))?.nominalAtMs).toBe(Date.parse(back.next_run_time));
  });
});
