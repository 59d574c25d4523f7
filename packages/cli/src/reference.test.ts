import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { renderCliReference } from './reference.ts';

test('docs/cli.md is what the commands say', async () => {
  const page = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  expect(page, 'the commands changed: write renderCliReference() to docs/cli.md').toBe(renderCliReference());
});

test('a table has two cells in every row, and code is shown as it is', () => {
  const lines = renderCliReference().split('\n');
  const rows = lines.filter((line) => line.startsWith('|'));
  for (const row of rows) expect(row.split(/(?<!\\)\|/), row).toHaveLength(4);
  expect(rows).toContainEqual(expect.stringContaining('`--retry-jitter <on\\|off>`'));
  expect(lines.filter((line) => /`[^`]*(&lt;|\\\*)[^`]*`/.test(line))).toEqual([]);
});
