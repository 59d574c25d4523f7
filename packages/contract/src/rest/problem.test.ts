import { readFileSync } from 'node:fs';
import { CATALOGUE } from '@carillon/domain';
import { expect, test } from 'vitest';
import { renderErrorsPage } from './problem.ts';

const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');

test('docs/errors.md is what the catalogue says', () => {
  expect(page).toBe(renderErrorsPage());
});

test('every code is documented, and every documented code exists', () => {
  const documented = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
  expect(documented).toEqual(Object.keys(CATALOGUE));
});
