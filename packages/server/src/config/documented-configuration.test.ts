/** Configuration that the documentation shows can be used as it is shown: it is JSON, and the server takes it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from './load-config.ts';
import { SETTINGS } from './settings.ts';

const ROOT = new URL('../../../../', import.meta.url);
const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));
const NAMES = new Set(SETTINGS.map(({ path }) => path[0]));

interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

const blocks: readonly Block[] = PAGES.flatMap((page) => {
  const text = readFileSync(new URL(page, ROOT), 'utf8');
  return Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), ([, language = '', inner = '']) => ({
    ...{ page, language, text: inner },
  }));
});

/** Begins with a setting, or with the group of one. */
const shown = blocks.filter(
  ({ language, text }) => language === 'json' && NAMES.has(/^\s*\{\s*"(\w+)"/.exec(text)?.[1] ?? ''),
);

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'carillon-config-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

test.each(shown)('$page: $text', ({ text }) => {
  writeFileSync(join(cwd, 'shown.json'), text);
  expect(loadConfig({ argv: ['--config', 'shown.json'], env: {}, cwd })).toMatchObject({ kind: 'run' });
});

test('the pages that show configuration are found', () => {
  const pages = shown.map(({ page }) => page);
  expect(pages).toEqual(
    expect.arrayContaining(['docs/configuration.md', 'docs/egress.md', 'docs/sign-in.md']),
  );
});

test('no page shows configuration in another format', () => {
  const lines = blocks
    .filter(({ language }) => ['yaml', 'yml', 'toml', 'ini'].includes(language))
    .flatMap(({ page, text }) => text.split('\n').map((line) => ({ page, line })));
  const others = lines.filter(({ line }) => NAMES.has(/^(\w+)(:| = )/.exec(line)?.[1] ?? ''));
  expect(others).toEqual([]);
});
