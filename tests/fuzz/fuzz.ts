/** Sends a gateway random requests made from its own OpenAPI document, and judges every answer. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { GatewayFixture } from '../../packages/server/src/gateway/gateway.fixture.ts';
import type { OpenApiDocument } from '../../packages/server/src/gateway/openapi/build-openapi.ts';
import { FuzzWorld } from './fuzz-world.ts';
import { requests } from './request-arbitrary.ts';

export const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

export async function fuzz(
  gateway: GatewayFixture,
  options: { seed: number; requests: number },
): Promise<void> {
  const api = (await gateway.app.inject('/api/openapi.json')).json() as OpenApiDocument;
  const world = await FuzzWorld.around(gateway);
  const property = fc.asyncProperty(requests(api), (request) => world.check(request));
  // What came before made the world what it is, so a smaller request alone would prove nothing.
  await fc.assert(property, { seed: options.seed, numRuns: options.requests, endOnFailure: true });
  // If nearly everything were refused at the door, nothing behind it would have been tried. About a seventh is not: most operations
  // name a subject, which random requests rarely find.
  expect(world.answered(200, 300)).toBeGreaterThan(options.requests / 16);
  expect(world.answered(400, 500)).toBeGreaterThan(options.requests / 10);
}
