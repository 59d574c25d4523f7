/** What screens of the page share is declared once: keys of what they keep, and how often they ask. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../packages/dashboard/src');
const files = globSync('**/*.{ts,tsx}', { cwd: SOURCE }).filter((file) => !file.includes('.test.'));

function filesWith(pattern: RegExp): string[] {
  return files.filter((file) => pattern.test(readFileSync(join(SOURCE, file), 'utf8')));
}

describe('the page', () => {
  it('has sources where this test looks', () => {
    expect(files.length).toBeGreaterThan(100);
  });

  it('spells keys of what it keeps in api/query-keys.ts alone', () => {
    expect(filesWith(/queryKey(?::|=\{)\s*\[+\s*['"]/)).toEqual([]);
    expect(filesWith(/KEY = \[/)).toEqual([]);
  });

  it('says how often it asks, and for how long it keeps, in api/polling.ts alone', () => {
    expect(filesWith(/\b(?:REFRESH|KEPT|STREAM)_MS = /)).toEqual([]);
    expect(filesWith(/(?:refetchInterval|refetchMs|staleTime)(?:: |=\{)[1-9]/)).toEqual([]);
  });

  it('lets npx run no package that was not installed, in any command that it shows', () => {
    expect(filesWith(/npx carillon/)).toEqual([]);
    expect(filesWith(/npx --no-install carillon/)).toHaveLength(1);
  });

  it('has one set of states of runs that failed', () => {
    expect(filesWith(/Set\(\['FAILED', 'TIMED_OUT', 'LOST'\]\)/)).toHaveLength(1);
  });
});
