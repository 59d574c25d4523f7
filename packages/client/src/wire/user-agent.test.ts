import { expect, test, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { Carillon } from '../carillon.ts';
import { json, scriptedServer } from '../scripted-server.fixture.ts';
import { userAgentHeader, VERSION } from './user-agent.ts';

test('the client names itself and its version, after the program that uses it', async () => {
  expect(VERSION).toBe(manifest.version);
  const { url, asked } = await scriptedServer(json(200, {}));
  await new Carillon({ url }).jobs.get('x');
  await new Carillon({ url, userAgent: 'billing/2.1' }).jobs.get('x');
  await new Carillon({ url, headers: { 'user-agent': 'something else' } }).jobs.get('x');
  expect(asked.map(({ headers }) => headers['user-agent'])).toEqual([
    `carillon-client/${VERSION}`,
    `billing/2.1 carillon-client/${VERSION}`,
    'something else',
  ]);
});

test('a browser sends its own name', () => {
  vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0)' });
  try {
    expect(userAgentHeader('billing/2.1')).toEqual({});
  } finally {
    vi.unstubAllGlobals();
  }
});
