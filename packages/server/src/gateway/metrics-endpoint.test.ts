import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { PrometheusTelemetry } from '../telemetry/prometheus/prometheus-telemetry.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

let telemetry: PrometheusTelemetry;

beforeEach(() => {
  telemetry = new PrometheusTelemetry({ clock: new ManualClock() });
});

const gatewayWith = (open: boolean) => new GatewayFixture({ metrics: { telemetry, open } }).app;
const withKey = { authorization: `Bearer ${KEY}` };

describe('GET /metrics', () => {
  test('answers in the format of Prometheus to those with a key', async () => {
    const answer = await gatewayWith(false).inject({ url: '/metrics', headers: withKey });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.body).toContain('# TYPE carillon_run_start_delay_seconds histogram');
  });

  test('is closed to everybody else, also on this machine', async () => {
    expect((await gatewayWith(false).inject({ url: '/metrics' })).statusCode).toBe(401);
  });

  test('where it is open, callers on this machine need no key, and others do', async () => {
    const app = gatewayWith(true);
    expect((await app.inject({ url: '/metrics' })).statusCode).toBe(200);
    expect((await app.inject({ url: '/metrics', remoteAddress: '10.1.2.3' })).statusCode).toBe(401);
    const forwarded = { 'x-forwarded-for': '10.1.2.3' };
    expect((await app.inject({ url: '/metrics', headers: forwarded })).statusCode).toBe(401);
  });

  test('counts requests by route, whatever stands in the path', async () => {
    const app = gatewayWith(false);
    for (const path of ['/api/jobs/a', '/api/jobs/b', '/made/up/1', '/made/up/2'])
      await app.inject({ url: path, headers: withKey });
    const { body } = await app.inject({ url: '/metrics', headers: withKey });
    const routes = [...body.matchAll(/duration_seconds_count\{.*route="([^"]*)",status="(\d+)"\} (\d+)/g)];
    expect(routes.map(([, ...facts]) => facts)).toEqual([
      ['/api/jobs/:id', '404', '2'],
      ['none', '404', '2'],
    ]);
  });
});
