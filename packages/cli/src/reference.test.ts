import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { renderCliReference } from './reference.ts';

test('docs/cli.md is what the commands say', async () => {
  const page = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  expect(page, 'the commands changed: write renderCliReference() to docs/cli.md').toBe(renderCliReference());
});
