/** What comments and tests cite by number exists where it is defined, and what a definition names exists too. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from './read-sources.ts';

const FOLDERS = ['packages', 'tests', 'bench', 'docs', 'scripts'];
const SKIPPED = /(^|\/)(node_modules|dist|raw|generated)\//;
const HAZARDS = 'docs/hazards.md';

interface Text {
  readonly path: string;
  readonly text: string;
}

let texts: Text[] = [];

beforeAll(async () => {
  const folders = FOLDERS.filter((folder) => existsSync(join(ROOT, folder)));
  const inFolders = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(ROOT, folder), { recursive: true })).map((entry) => `${folder}/${entry}`),
    ),
  );
  const paths = [...inFolders.flat(), 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'vitest.config.ts']
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.(ts|md|sql|py)$/.test(path) && !SKIPPED.test(path));
  texts = await Promise.all(
    paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), 'utf8') })),
  );
});

describe('hazards', () => {
  const listed = () =>
    [...textOf(HAZARDS).matchAll(/^- \*\*Hazard (\d+):/gm)].map(([, number]) => Number(number));

  test('that are cited are listed', () => {
    const known = new Set(listed());
    const unknown = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bhazards? (\d+(?:(?:, | and )\d+)*)/gi)]
        .flatMap(([, numbers]) => numbers!.match(/\d+/g)!)
        .filter((number) => !known.has(Number(number)))
        .map((number) => `${path}: hazard ${number}`),
    );
    expect(unknown).toEqual([]);
  });

  test('are numbered once and without a gap', () => {
    const numbers = listed().sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => i + 1));
  });

  test('name files that exist', () => {
    const named = [...textOf(HAZARDS).matchAll(/`([\w./-]+\.ts)`/g)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('invariants', () => {
  /** By prefix, the file that defines them: one row of a table each. */
  const HOMES: Readonly<Record<string, string>> = {
    INV: 'ARCHITECTURE.md',
    SIM: 'tests/simulation/README.md',
    SCHED: 'packages/server/src/scheduler/README.md',
    DISP: 'packages/server/src/dispatcher/README.md',
    LEASE: 'packages/server/src/worker-link/README.md',
    SHARD: 'packages/server/src/sharding/README.md',
  };
  const ID = new RegExp(`\\b(?:${Object.keys(HOMES).join('|')})-\\d+\\b`, 'g');
  const definedIn = (home: string) =>
    [...textOf(home).matchAll(/^\| ([A-Z]+-\d+)\s+\|/gm)].map(([, id]) => id!);
  const homes = Object.entries(HOMES);

  test.each(homes)('%s-n are defined once, and in one place', (prefix, home) => {
    const ids = definedIn(home);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, i) => `${prefix}-${i + 1}`));
    expect(ids.length).toBeGreaterThan(3);
  });

  test('that are cited are defined', () => {
    const known = new Set(homes.flatMap(([, home]) => definedIn(home)));
    const unknown = texts.flatMap(({ path, text }) =>
      (text.match(ID) ?? []).filter((id) => !known.has(id)).map((id) => `${path}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  test('of a module are cited where the code enforces them', () => {
    const cited = new Set(
      texts.filter(({ path }) => path.endsWith('.ts')).flatMap(({ text }) => text.match(ID) ?? []),
    );
    const modules = homes.filter(([prefix]) => prefix !== 'INV');
    expect(modules.flatMap(([, home]) => definedIn(home)).filter((id) => !cited.has(id))).toEqual([]);
  });
});

function textOf(path: string): string {
  return texts.find((file) => file.path === path)?.text ?? '';
}
