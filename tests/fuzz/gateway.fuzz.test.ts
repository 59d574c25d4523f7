/**
 * The whole REST interface under random requests made from its own OpenAPI document: no failure on our side, no hang,
 * every refusal a problem document, every answer valid by its schema. A failure prints its seed: SEED=123 repeats it.
 */
import { test } from 'vitest';
import { GatewayFixture } from '../../packages/server/src/gateway/gateway.fixture.ts';
import { fuzz, SEED } from './fuzz.ts';

const REQUESTS = process.env.CARILLON_TEST_LONG === 'true' ? 24_000 : 2_500;
/** A new world every so often, so that lists stay short and a failure is near the requests that led to it. */
const REQUESTS_PER_WORLD = 500;
/** Only ends a hang. */
const MS_EACH_MAX = 1_000;

test(`${REQUESTS} random requests are answered well (SEED=${SEED})`, {
  timeout: REQUESTS * MS_EACH_MAX,
}, async () => {
  for (let done = 0; done < REQUESTS; done += REQUESTS_PER_WORLD) {
    await fuzz(new GatewayFixture(), { seed: SEED + done, requests: REQUESTS_PER_WORLD });
  }
});
