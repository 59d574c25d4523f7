import { describe, expect, it } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

describe('every answer', () => {
  it.each([
    ['GET', '/api/jobs', 200],
    ['GET', '/api/jobs/nonsense', 404],
    ['GET', '/nowhere', 404],
    ['GET', '/health/live', 200],
  ] as const)('%s %s tells browsers to be careful', async (method, url, status) => {
    const answer = await new GatewayFixture().ask(method, url);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    expect(answer.headers['strict-transport-security']).toBeUndefined();
  });

  it('behind a trusted proxy that ends TLS asks for TLS from then on', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' };
    const trusting = new GatewayFixture({ trustedProxies: ['127.0.0.1'] });
    const trusted = await trusting.ask('GET', '/api/jobs', { headers });
    expect(trusted.headers['strict-transport-security']).toBe('max-age=31536000');
    const untrusting = await new GatewayFixture().ask('GET', '/api/jobs', { headers });
    expect(untrusting.headers['strict-transport-security']).toBeUndefined();
  });

  it('of a trusted proxy is about the caller behind it, of any other about itself', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const addressFor = async (fixture: GatewayFixture) => {
      await fixture.ask('POST', '/api/jobs', { headers, payload: { name: 'x', handler: 'default' } });
      return (await fixture.storage.audit.list({ limit: 1 }))[0]!.origin.address;
    };
    expect(await addressFor(new GatewayFixture({ trustedProxies: ['127.0.0.0/8'] }))).toBe('203.0.113.7');
    expect(await addressFor(new GatewayFixture())).toBe('127.0.0.1');
  });
});
