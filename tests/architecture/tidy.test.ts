/** Small habits a machine can check. Each failure names the file. */
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GENERATED, readSources } from './read-sources.ts';

const LINES_MAX = 400;
const KEBAB =
  /^[a-z0-9]+(-[a-z0-9]+)*(\.(sql|fixture|conformance))?(\.(db|kafka|redis|browser|process))?(\.test)?\.tsx?$/;
/** Rooms that get time and chance handed in, so that a seed repeats them exactly. */
const ROOMS_WITHOUT_TIME = [
  'packages/domain/src/',
  'packages/server/src/backlog/',
  'packages/server/src/scheduler/',
  'packages/server/src/dispatcher/',
  'packages/worker/src/runtime/',
  'packages/server/src/worker-home/',
  'packages/server/src/completion/',
  'packages/server/src/recovery/',
  'packages/server/src/sharding/',
  'packages/server/src/storage/memory/',
];
const UNREPEATABLE = /\b(Date\.now|Math\.random|setTimeout|setInterval|performance\.now)\(/;

const files = (await readSources()).filter(({ path }) => !GENERATED.test(path));
const isTest = (path: string) => path.endsWith('.test.ts');

function filesThat(offend: (file: (typeof files)[number]) => boolean): string[] {
  return files.filter(offend).map((file) => file.path);
}

describe('every source file', () => {
  test(`has at most ${LINES_MAX} lines`, () => {
    expect(filesThat(({ text }) => text.split('\n').length > LINES_MAX + 1)).toEqual([]);
  });

  test('opens with what it is for, unless it is a test or only re-exports', () => {
    const offends = filesThat(
      ({ path, text }) => !isTest(path) && basename(path) !== 'index.ts' && !/^\s*(\/\*|\/\/)/.test(text),
    );
    expect(offends).toEqual([]);
  });

  test('that is called index.ts only re-exports', () => {
    const rest = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|export [^;]*? from '[^']+';/g, '').trim();
    expect(filesThat(({ path, text }) => basename(path) === 'index.ts' && rest(text) !== '')).toEqual([]);
  });

  test('leaves nothing to be done later', () => {
    const mark = new RegExp(['TO', 'DO|FIX', 'ME'].join(''));
    expect(filesThat(({ text }) => mark.test(text))).toEqual([]);
  });

  test('has no control characters, no byte-order mark and no invisible ones', () => {
    expect(filesThat(({ text }) => /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text))).toEqual([]);
  });

  test('is named in kebab-case', () => {
    expect(filesThat(({ path }) => !KEBAB.test(basename(path)))).toEqual([]);
  });

  test('in a module without a clock of its own asks neither the time nor chance', () => {
    const offends = filesThat(
      ({ path, text }) =>
        !isTest(path) &&
        ROOMS_WITHOUT_TIME.some((module) => path.startsWith(module)) &&
        UNREPEATABLE.test(text),
    );
    expect(offends).toEqual([]);
  });
});

test('the habits are looked for where the files are', () => {
  expect(files.length).toBeGreaterThan(100);
  for (const module of ROOMS_WITHOUT_TIME)
    expect(filesThat(({ path }) => path.startsWith(module))).not.toEqual([]);
});
