import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { VERSION } from './greeting.ts';

test('the version that a server greets with is that of the manifest', () => {
  expect(VERSION).toBe(manifest.version);
});
