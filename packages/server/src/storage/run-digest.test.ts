import type { JobId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { type CountedEnd, type CountedRun, DigestBuilder, readDigest } from './run-digest.ts';

const AT_MS = 1_000_000;
type Attempt = CountedRun & CountedEnd;
const attempt = (over: Partial<Attempt> = {}): Attempt => ({
  jobId: 'job' as JobId,
  runId: 'job' as RunId,
  handler: 'http',
  status: 'SUCCESS',
  next: { kind: 'finish' },
  nominalAtMs: AT_MS,
  dueAtMs: AT_MS,
  startedAtMs: AT_MS + 3,
  endedAtMs: AT_MS + 103,
  error: undefined,
  ...over,
});
const digestOf = (...attempts: readonly (readonly [number, Attempt])[]) => {
  const builder = new DigestBuilder();
  for (const [namespaceKey, each] of attempts) builder.add(namespaceKey, each, each);
  return builder.text(AT_MS);
};

describe('a digest of runs that ended together', () => {
  it('has one entry for those that are alike', () => {
    const text = digestOf(...Array.from({ length: 1_000 }, () => [7, attempt()] as const));
    expect(text.length).toBeLessThan(100);
    expect(readDigest(text)).toMatchObject({
      atMs: AT_MS,
      entries: [
        {
          namespaceKey: 7,
          handler: 'http',
          status: 'SUCCESS',
          hasStarted: true,
          isRetried: false,
          count: 1_000,
        },
      ],
      failures: [],
    });
  });

  it('tells apart namespaces, handlers, outcomes and what was not measured', () => {
    const { entries } = readDigest(
      digestOf(
        [1, attempt()],
        [2, attempt()],
        [1, attempt({ handler: 'a "quoted" one' })],
        [1, attempt({ status: 'FAILED', next: { kind: 'again', atMs: 0, attempt: 2, crashes: 0 } })],
        [1, attempt({ startedAtMs: undefined })],
      ),
    );
    expect(entries).toHaveLength(5);
    expect(entries.map(({ namespaceKey }) => namespaceKey)).toEqual([1, 2, 1, 1, 1]);
    expect(entries[2]).toMatchObject({ handler: 'a "quoted" one' });
    expect(entries[3]).toMatchObject({ status: 'FAILED', isRetried: true });
    expect(entries[4]).toMatchObject({
      hasStarted: false,
      delayBucket: undefined,
      durationBucket: undefined,
    });
    expect(entries[0]!.durationBucket).toBeGreaterThan(0);
  });

  it('names the job of an occurrence that started late, and of no other', () => {
    const late = { startedAtMs: AT_MS + 90_000, endedAtMs: AT_MS + 90_001 };
    const { entries } = readDigest(
      digestOf([1, attempt(late)], [1, attempt({ ...late, jobId: 'recurring' as JobId })]),
    );
    expect(entries.map((entry) => entry.late)).toEqual([
      undefined,
      { jobId: 'recurring', nominalAtMs: AT_MS, delayMs: 90_000 },
    ]);
  });

  it('has one failure for errors that are alike, and only so many', () => {
    const failed = (error: string, jobId = 'job') =>
      [1, attempt({ status: 'FAILED', error, jobId: jobId as JobId })] as const;
    const words = Array.from({ length: 26 }, (_, i) => String.fromCharCode(97 + i));
    const { failures, entries } = readDigest(
      digestOf(failed('row 1', 'a'), failed('row 2', 'b'), ...words.map((word) => failed(`no ${word}`))),
    );
    expect(failures[0]).toMatchObject({ message: 'row 1', count: 2, jobIds: ['a', 'b'], handler: 'http' });
    expect(failures).toHaveLength(20);
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(28);
  });
});
