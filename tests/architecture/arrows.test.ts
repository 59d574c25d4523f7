/** Fails on the first wrong import, naming the file, the import and the rule. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ARROWS_BEGIN, ARROWS_END, MODULES, renderArrows } from '../../architecture.ts';
import { misplaced, unlawfulArrows, wrongImports } from './check-arrows.ts';
import { ROOT, readProject, readSources } from './read-sources.ts';

test('every import follows an arrow of the table', async () => {
  const [first, ...others] = wrongImports(await readProject(), MODULES);
  if (first === undefined) return;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  expect.fail(`${first.file} imports '${first.imported}': ${first.rule}${more}`);
});

test('the table keeps its own laws: roles apart, adapters named only where things are put together', () => {
  expect(unlawfulArrows(MODULES)).toEqual([]);
});

test('every module is on disk and every file is in a module', async () => {
  const paths = (await readSources()).map((file) => file.path);
  expect(misplaced(paths, MODULES)).toEqual([]);
});

test('no two rows are about the same module', () => {
  const names = MODULES.map((module) => module.name);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

test('only composition names adapters', () => {
  const adapters = new Set(
    MODULES.filter((module) => module.kind === 'adapter').map((module) => module.name),
  );
  const naming = MODULES.filter((module) => module.imports.some((name) => adapters.has(name))).map(
    (module) => module.name,
  );
  expect(naming.sort()).toEqual([
    'server/compose.ts',
    'server/open-log-store.ts',
    'server/start-engine.ts',
    'server/start-server.ts',
  ]);
});

test('ARCHITECTURE.md shows the table as it is', async () => {
  const text = await readFile(join(ROOT, 'ARCHITECTURE.md'), 'utf8').catch(() =>
    expect.fail('ARCHITECTURE.md is missing: it must show the table of arrows between its markers'),
  );
  const [, shown] = text.split(ARROWS_BEGIN);
  expect(shown, `ARCHITECTURE.md has no ${ARROWS_BEGIN}`).toBeDefined();
  expect(text, `ARCHITECTURE.md has no ${ARROWS_END}`).toContain(ARROWS_END);
  expect(shown?.split(ARROWS_END)[0]?.trim(), 'the table changed: run `npm run generate`').toBe(
    renderArrows(),
  );
});
