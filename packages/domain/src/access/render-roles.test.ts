import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ROLES_BEGIN, ROLES_END, renderRoles } from './render-roles.ts';

it('docs/security.md shows the table of roles as it is', async () => {
  const page = await readFile(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
  const shown = page.slice(page.indexOf(ROLES_BEGIN) + ROLES_BEGIN.length, page.indexOf(ROLES_END));
  expect(shown.trim()).toBe(renderRoles());
});
