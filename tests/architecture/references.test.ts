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

function textOf(path: string): string {
  return texts.find((file) => file.path === path)?.text ?? '';
}
