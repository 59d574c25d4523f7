/** The checker must bite: small wrong projects, one mistake each. */
import { describe, expect, test } from 'vitest';
import { type Module, renderArrows } from '../../architecture.ts';
import { misplaced, unlawfulArrows, wrongImports } from './check-arrows.ts';

const MODULES: readonly Module[] = [
  { name: 'domain', kind: 'pure', purpose: 'rules', imports: [], npm: ['croner'] },
  { name: 'worker', kind: 'package', purpose: 'runs', imports: ['domain'] },
  { name: 'server/gateway', kind: 'gateway', purpose: 'gateway', imports: ['domain'], npm: ['fastify'] },
  { name: 'server/scheduler', kind: 'role', purpose: 'fires', imports: ['domain', 'server/storage'] },
  { name: 'server/dispatcher', kind: 'role', purpose: 'places', imports: ['server/storage'] },
  { name: 'server/storage', kind: 'port', purpose: 'truth', imports: ['domain'], files: ['storage.ts'] },
  { name: 'server/storage/memory', kind: 'adapter', purpose: 'memory', imports: ['server/storage'] },
  { name: 'server/compose.ts', kind: 'composition', purpose: 'all', imports: ['server/storage/memory'] },
];

const FILES = [
  'packages/domain/src/index.ts',
  'packages/domain/src/job/job.ts',
  'packages/worker/src/index.ts',
  'packages/server/src/gateway/gateway.ts',
  'packages/server/src/gateway/gateway.fixture.ts',
  'packages/server/src/scheduler/scheduler.ts',
  'packages/server/src/dispatcher/dispatcher.ts',
  'packages/server/src/storage/storage.ts',
  'packages/server/src/storage/memory/memory-storage.ts',
  'packages/server/src/compose.ts',
];

/** The rules broken by one file that imports one thing. */
function rulesBroken(path: string, imported: string): string[] {
  const files = [...new Set([...FILES, path])].map((file) => ({
    path: file,
    text: file === path ? `import { x } from '${imported}';` : '',
  }));
  const declared = new Map([
    ['domain', new Set(['croner'])],
    ['server', new Set(['fastify', 'pg'])],
  ]);
  return wrongImports({ files, declared }, MODULES).map((wrong) => {
    expect(wrong).toMatchObject({ file: path, imported });
    return wrong.rule;
  });
}

describe('an import along an arrow is let through', () => {
  test.each([
    ['within a module', 'packages/domain/src/index.ts', './job/job.ts'],
    ['of a package by its name', 'packages/worker/src/index.ts', '@carillon/domain'],
    ['of a port by a role', 'packages/server/src/scheduler/scheduler.ts', '../storage/storage.ts'],
    ['of its port by an adapter', 'packages/server/src/storage/memory/memory-storage.ts', '../storage.ts'],
    ['of an adapter by composition', 'packages/server/src/compose.ts', './storage/memory/memory-storage.ts'],
    ['of a declared npm package', 'packages/server/src/gateway/gateway.ts', 'fastify'],
    ['of Node itself', 'packages/server/src/gateway/gateway.ts', 'node:fs'],
    ['of anything by a test', 'packages/server/src/gateway/g.test.ts', '../scheduler/scheduler.ts'],
  ])('%s', (_, path, imported) => {
    expect(rulesBroken(path, imported)).toEqual([]);
  });
});

describe('an import against the arrows is named with its rule', () => {
  test.each([
    [
      'a role that imports a role',
      'scheduler/scheduler.ts',
      '../dispatcher/dispatcher.ts',
      /no arrow from server\/sch/,
    ],
    ['a role that imports the gateway', 'dispatcher/dispatcher.ts', '../gateway/gateway.ts', /no arrow/],
    [
      'a role that imports an adapter',
      'scheduler/scheduler.ts',
      '../storage/memory/memory-storage.ts',
      /to server\/storage\/memory/,
    ],
    [
      'the product importing a fixture',
      'compose.ts',
      './gateway/gateway.fixture.ts',
      /not part of the product/,
    ],
    [
      'a file that is not there',
      'compose.ts',
      './nowhere.ts',
      /there is no file packages\/server\/src\/nowhere/,
    ],
    ['another package by its path', 'compose.ts', '../../domain/src/index.ts', /imported by its name/],
    ['another package past its index', 'scheduler/scheduler.ts', '@carillon/domain/src/job.ts', /index only/],
    ['something outside of packages', 'compose.ts', '../../../tests/x.ts', /outside of packages/],
    ['a package without an arrow', 'dispatcher/dispatcher.ts', '@carillon/worker', /no arrow/],
    [
      'an npm package that is not declared',
      'gateway/gateway.ts',
      'left-pad',
      /not declared in packages\/server/,
    ],
    ['an npm package of another module', 'scheduler/scheduler.ts', 'pg', /may not import the npm package pg/],
  ])('%s', (_, file, imported, rule) => {
    const rules = rulesBroken(`packages/server/src/${file}`, imported);
    expect(rules).toHaveLength(1);
    expect(rules[0]).toMatch(rule);
  });

  test('domain importing anything of ours, or of Node', () => {
    expect(rulesBroken('packages/domain/src/index.ts', '@carillon/worker')).toEqual([
      'no arrow from domain to worker',
    ]);
    expect(rulesBroken('packages/domain/src/index.ts', 'node:fs')[0]).toMatch(/nothing of Node/);
  });

  test('a file in no module, whatever it imports', () => {
    expect(rulesBroken('packages/server/src/new/new.ts', 'node:fs')).toEqual([
      'this file is in no module of the table',
    ]);
  });

  test('a dynamic import as well as a static one', () => {
    const text = `export const load = () => import('../dispatcher/dispatcher.ts');`;
    const files = FILES.map((path) => ({ path, text: path.endsWith('/scheduler.ts') ? text : '' }));
    expect(wrongImports({ files, declared: new Map() }, MODULES)).toHaveLength(1);
  });
});

describe('the laws of the table', () => {
  const withArrow = (name: string, to: string): Module[] =>
    MODULES.map((module) =>
      module.name === name ? { ...module, imports: [...module.imports, to] } : module,
    );

  test('a table within the laws has no problem', () => {
    expect(unlawfulArrows(MODULES)).toEqual([]);
  });

  test.each([
    ['domain', 'worker', /nothing of ours/],
    ['server/scheduler', 'server/dispatcher', /never each other/],
    ['server/scheduler', 'server/gateway', /never each other/],
    ['server/scheduler', 'server/storage/memory', /or an adapter/],
    ['server/gateway', 'server/scheduler', /operations and ports/],
    ['server/storage', 'server/storage/memory', /contract/],
    ['server/storage/memory', 'server/scheduler', /its own port/],
    ['server/scheduler', 'server/nowhere', /not in the table/],
  ])('no row may let %s import %s', (from, to, law) => {
    expect(unlawfulArrows(withArrow(from, to))).toEqual([expect.stringMatching(law)]);
  });
});

describe('modules and files', () => {
  test('agree when every file has a module and every module a file', () => {
    expect(misplaced(FILES, MODULES)).toEqual([]);
  });

  test('a module that is not on disk is a problem', () => {
    const paths = FILES.filter((path) => !path.includes('/memory/'));
    expect(misplaced(paths, MODULES)).toEqual(['server/storage/memory is in the table but not on disk']);
  });

  test('a new folder is a problem until it is in the table', () => {
    expect(misplaced([...FILES, 'packages/server/src/notifications/n.ts'], MODULES)).toEqual([
      'packages/server/src/notifications/n.ts is in no module of the table',
    ]);
  });

  test('an adapter cannot hide beside its port', () => {
    expect(misplaced([...FILES, 'packages/server/src/storage/sqlite-storage.ts'], MODULES)).toEqual([
      expect.stringContaining('give it a module of its own'),
    ]);
  });
});

test('the rendered table has a row for every module, and says what a module imports', () => {
  const lines = renderArrows(MODULES).split('\n');
  expect(lines).toContain('| `domain` | pure | rules | `npm:croner` |');
  expect(lines).toContain('| `server/storage/memory` | adapter | memory | `server/storage` |');
  expect(lines.filter((line) => line.startsWith('| `'))).toHaveLength(MODULES.length);
});
