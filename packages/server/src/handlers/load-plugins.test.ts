import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { makeTestFolder } from '../../../../tests/support/test-folder.ts';
import { loadPlugins } from './load-plugins.ts';

let cwd: string;
let leftOut: { module: string; handler?: string; reason: string }[];

beforeEach(() => {
  cwd = makeTestFolder();
  leftOut = [];
});

const log: Log = {
  ...{ debug: () => {}, info: () => {}, warn: () => {}, child: () => log },
  error: (facts) => {
    const { err, ...named } = facts as { module: string; err: Error };
    leftOut.push({ ...named, reason: err.message });
  },
};

function write(path: string, text: string): string {
  mkdirSync(join(cwd, path, '..'), { recursive: true });
  writeFileSync(join(cwd, path), text);
  return `./${path}`;
}

type Modules = Parameters<typeof loadPlugins>[0]['modules'];
const load = async (modules: Modules, loadMsMax = 30_000) =>
  (await loadPlugins({ modules, cwd, taken: ['http'], log, loadMsMax })).map(({ name }) => name);

const handler = (name: string, more = '') => `{ name: '${name}', run: () => 'done'${more} }`;

test('a module brings a handler, several, or a function that makes them from its options', async () => {
  const one = write('one.mjs', `export default ${handler('one')};`);
  const more = write('more.mjs', `export default [${handler('two')}, ${handler('three')}];`);
  const made = write('made.mjs', `export default async ({ name }) => ({ name, run: () => name });`);
  const modules = [one, more, { module: made, options: { name: 'four' } }];
  expect(await load(modules)).toEqual(['one', 'two', 'three', 'four']);
  expect(leftOut).toEqual([]);
});

test('a package is found by its name in the node_modules of the current folder', async () => {
  write('node_modules/their-handler/package.json', '{ "name": "their-handler", "exports": "./main.mjs" }');
  write('node_modules/their-handler/main.mjs', `export default ${handler('theirs')};`);
  expect(await load(['their-handler'])).toEqual(['theirs']);
});

test('what throws, exports nonsense or takes a name is named and left out; the others are loaded', async () => {
  const modules = [
    write('throws.mjs', `throw new Error('no such library');`),
    write('refuses.mjs', `export default () => { throw new Error('no key in the options'); };`),
    write('broken.mjs', 'export default {'),
    write('empty.mjs', 'export const handler = 1;'),
    write('text.mjs', `export default 'resize';`),
    write('taken.mjs', `export default [${handler('http')}, ${handler('mine')}];`),
    write('schema.mjs', `export default ${handler('schema', `, parameters: { type: 'strin' }`)};`),
    write('again.mjs', `export default ${handler('mine')};`),
    './missing.mjs',
    'no-such-package',
    write('last.mjs', `export default ${handler('last')};`),
  ];
  expect(await load(modules)).toEqual(['mine', 'last']);
  expect(leftOut).toMatchObject([
    { module: './throws.mjs', reason: 'no such library' },
    { module: './refuses.mjs', reason: 'no key in the options' },
    { module: './broken.mjs', reason: expect.any(String) },
    { module: './empty.mjs', reason: expect.stringContaining('its default export must be a handler') },
    { module: './text.mjs', reason: expect.stringContaining('an object with a name and a function') },
    { module: './taken.mjs', handler: 'http', reason: expect.stringContaining('a handler "http" already') },
    { module: './schema.mjs', handler: 'schema', reason: expect.stringContaining('cannot be used') },
    { module: './again.mjs', handler: 'mine', reason: expect.stringContaining('a handler "mine" already') },
    { module: './missing.mjs', reason: expect.any(String) },
    { module: 'no-such-package', reason: expect.stringContaining('no-such-package') },
  ]);
});

test('a module that is never ready is left out after a while', async () => {
  const never = write('never.mjs', 'export default () => new Promise(() => {});');
  expect(await load([never], 50)).toEqual([]);
  expect(leftOut).toMatchObject([{ module: './never.mjs', reason: 'it was not ready within 0.05 s' }]);
});
