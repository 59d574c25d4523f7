import { silentLog } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { readPlugin } from '../handler-plugin.ts';
import { httpPlugin, scriptPlugin } from './built-in-plugins.ts';
import type { Containment } from './script/containment.ts';

const CONTAINED: Containment = { kind: 'namespace', canHide: true, hasLimits: true, hasSetpriv: true };

test('http says which payload it takes', () => {
  const offered = readPlugin(httpPlugin(), 'built_in');
  expect(offered).toMatchObject({ name: 'http', origin: 'built_in' });
  expect(JSON.parse(offered.parameters!)).toMatchObject({ type: 'object', required: ['url'] });
});

test('script says which payload it takes, and what it can run', async () => {
  const plugin = await scriptPlugin({ interpreters: ['sh'], containment: CONTAINED, log: silentLog });
  const offered = readPlugin(plugin, 'built_in');
  expect(offered).toMatchObject({ name: 'script', labels: { 'script.interpreters': 'sh' } });
  expect(JSON.parse(offered.parameters!)).toMatchObject({ properties: { script: expect.anything() } });
});

test.each([
  [CONTAINED, 0],
  [{ ...CONTAINED, kind: 'group', canHide: false } as const, 1],
])('of scripts that run as %j there are %i warnings', async (containment, count) => {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_facts: object, message: string) => void warnings.push(message) };
  await scriptPlugin({ containment, log });
  expect(warnings.filter((text) => text.includes('without a namespace'))).toHaveLength(count);
});
