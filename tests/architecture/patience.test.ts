/** No test depends on how fast the machine is (hazard 50): a time limit only ends a hang, and no assertion is about a duration. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import config from '../../vitest.config.ts';
import { ROOT } from './read-sources.ts';

const TEST_MS_MIN = 120_000;
/** Less than a test has, so that what was still wrong is told and not only that the time is over. */
const WAIT_MS_MIN = 60_000;

const WAIT = /\bwithinMs: ([\d_]+)|\b(?:exitWithin|stop)\(([\d_]+)\)/g;
const LIMIT = /\b(?:timeout|testTimeout|hookTimeout): ([\d_]+)|^\}, ([\d_]+)\);$/gm;
/** Their limit is a second, and easily overlooked. */
const IMPATIENT = /\bexpect\.poll\(|\bvi\.waitFor|\bvi\.waitUntil/;
const DURATION = /\bexpect\((performance|Date)\.now\(\)/;

/** The one that tests what happens when the time is over. */
const ABOUT_WAITING = 'tests/support/eventually.test.ts';
const THIS = 'tests/architecture/patience.test.ts';

const files = await testFiles();

async function testFiles(): Promise<{ path: string; text: string }[]> {
  const found: { path: string; text: string }[] = [];
  for (const folder of ['packages', 'tests', 'bench']) {
    const entries = await readdir(join(ROOT, folder), { recursive: true });
    for (const entry of entries) {
      const path = `${folder}/${entry.replaceAll('\\', '/')}`;
      const isOurs = !path.includes('node_modules') && path !== ABOUT_WAITING && path !== THIS;
      if (isOurs && (/\.(test|conformance|fixture)\.ts$/.test(path) || /^tests\/.*\.ts$/.test(path)))
        found.push({ path, text: await readFile(join(ROOT, path), 'utf8') });
    }
  }
  return found;
}

function shorterThan(msMin: number, pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .filter(([, first, second]) => Number((first ?? second)!.replaceAll('_', '')) < msMin)
      .map(([words]) => `${path}: ${words}`),
  );
}

const filesThat = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

test('every kind of test has time on a slow machine, its hooks too', () => {
  const projects = (config.test?.projects ?? []) as {
    test: { name: string; testTimeout?: number; hookTimeout?: number };
  }[];
  expect(projects.length).toBeGreaterThan(5);
  const hasty = projects.filter(
    ({ test: { testTimeout = 0, hookTimeout = 0 } }) => Math.min(testTimeout, hookTimeout) < TEST_MS_MIN,
  );
  expect(hasty.map(({ test: { name } }) => name)).toEqual([]);
});

test('no test has less time than others of its kind', () => {
  expect(shorterThan(TEST_MS_MIN, LIMIT)).toEqual([]);
});

test('nothing is waited for so briefly that a slow machine could miss it', () => {
  expect(shorterThan(WAIT_MS_MIN, WAIT)).toEqual([]);
  expect(filesThat(IMPATIENT)).toEqual([]);
});

test('no assertion is about how long something took', () => {
  expect(filesThat(DURATION)).toEqual([]);
});

test('nobody reads the events of PostgreSQL without waiting: an open transaction of any database holds readers back', () => {
  const readers = files.filter(
    ({ path, text }) => /\.(db\.test|conformance)\.ts$/.test(path) && /\bevents\.read\(/.test(text),
  );
  expect(readers.length).toBeGreaterThan(3);
  expect(readers.filter(({ text }) => !/\beventually\(/.test(text)).map(({ path }) => path)).toEqual([]);
});

test('the tests are looked for where they are', () => {
  expect(files.length).toBeGreaterThan(150);
});
