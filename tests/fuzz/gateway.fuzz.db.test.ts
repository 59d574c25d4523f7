/** The same random requests over a real database: what it cannot store or compare must be refused before it is asked. */
import { expect, test } from 'vitest';
import { GatewayFixture } from '../../packages/server/src/gateway/gateway.fixture.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { createTestDatabase, describeEachPostgres } from '../support/postgres.ts';
import { openTestStorage } from '../support/test-storage.ts';
import { fuzz, SEED } from './fuzz.ts';

const REQUESTS = process.env.CARILLON_TEST_LONG === 'true' ? 5_000 : 800;

describeEachPostgres('random requests over PostgreSQL', (server) => {
  test(`${REQUESTS} of them are answered well (SEED=${SEED})`, { timeout: 600_000 }, async () => {
    const database = await createTestDatabase(server.url);
    const storage = openTestStorage(database.url);
    try {
      class StoredGateway extends GatewayFixture {
        protected override makeStorage(): Storage {
          return storage;
        }
      }
      const gateway = new StoredGateway();
      await storage.housekeeping.makePartitions({ nowMs: gateway.clock.now(), aheadDays: 2 });
      await fuzz(gateway, { seed: SEED, requests: REQUESTS });
      expect(gateway.errors).toEqual([]);
    } finally {
      await storage.close();
      await database.drop();
    }
  });
});
