import { describe, expect, test } from 'vitest';
import {
  ARTIFACT_END_BYTES,
  ARTIFACT_INDEX_BYTES_MAX,
  ARTIFACTS_MAX,
  isArtifactName,
  readArtifactEnd,
  readArtifactIndex,
  writeArtifactIndex,
} from './run-artifacts.ts';

const index = (files: unknown, keptAtMs: unknown = 5) => JSON.stringify({ keptAtMs, files });

describe('an index of files', () => {
  test('is read as it was written, however many and long the names', () => {
    const files = Array.from({ length: ARTIFACTS_MAX }, (_, i) => ({
      name: `${String(i).padStart(3, '0')}${'"é'.repeat(98)}`,
      offset: i,
      bytes: 1,
    }));
    const written = writeArtifactIndex({ keptAtMs: 5, files });
    const end = written.subarray(-ARTIFACT_END_BYTES);
    const length = readArtifactEnd(end)!;
    expect(length).toBe(written.length - ARTIFACT_END_BYTES);
    expect(length).toBeLessThan(ARTIFACT_INDEX_BYTES_MAX);
    const text = new TextDecoder().decode(written.subarray(0, length));
    expect(readArtifactIndex(text, { bytes: 100 })).toEqual({ keptAtMs: 5, files });
  });

  test.each([
    ['no JSON', '{'],
    ['no files', '{"keptAtMs":5}'],
    ['a name that leads elsewhere', index([{ name: '../a', offset: 0, bytes: 1 }])],
    ['a name twice', index([1, 2].map(() => ({ name: 'a', offset: 0, bytes: 1 })))],
    ['bytes beyond the end', index([{ name: 'a', offset: 50, bytes: 51 }])],
    ['bytes before the beginning', index([{ name: 'a', offset: -1, bytes: 1 }])],
    ['too many files', index(Array.from({ length: 101 }, (_, i) => ({ name: `${i}`, offset: 0, bytes: 0 })))],
    ['no instant', index([], 9e15)],
  ])('with %s is none', (_, text) => {
    expect(readArtifactIndex(text, { bytes: 100 })).toBeUndefined();
  });

  test('that is longer than it can be, or has no end, is none', () => {
    const end = (text: string) => readArtifactEnd(new TextEncoder().encode(text));
    expect(end('carillon-files 000000007')).toBe(7);
    expect(end('carillon-files 999999999')).toBeUndefined();
    expect(end('carillon-files 00000007')).toBeUndefined();
  });
});

test.each(['', '.', '..', 'a/b', 'a\nb', 'a\0', '\u001b[2J', 'a\u202eb', '\ud800', 'x'.repeat(201)])(
  '%j is no name of a file that is kept',
  (name) => expect(isArtifactName(name)).toBe(false),
);

test.each(['report.pdf', '.hidden', 'Übersicht 2030.csv', 'a"b', 'x'.repeat(200)])('%j is one', (name) => {
  expect(isArtifactName(name)).toBe(true);
});
