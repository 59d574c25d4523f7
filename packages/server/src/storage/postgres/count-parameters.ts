/** What was tallied, as the statements that add it to the counts take it. */
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { CountRow, FailureRow } from '../run-tally.ts';
import { COUNTS } from '../stats-store.ts';

export function countParameters(rows: readonly CountRow[]): string[] {
  return [
    textArray(rows.map(({ namespace }) => namespace)),
    textArray(rows.map(({ handler }) => handler)),
    plainArray(rows.map(({ atMs }) => atMs)),
    ...COUNTS.map((name) => plainArray(rows.map(({ counts }) => counts[name]))),
    textArray(rows.map(({ delays }) => plainArray(delays))),
    textArray(rows.map(({ durations }) => plainArray(durations))),
  ];
}

export function failureParameters(rows: readonly FailureRow[]): string[] {
  return [
    textArray(rows.map(({ namespace }) => namespace)),
    plainArray(rows.map(({ atMs }) => atMs)),
    textArray(rows.map(({ fingerprint }) => fingerprint)),
    textArray(rows.map(({ handler }) => handler)),
    textArray(rows.map(({ message }) => message)),
    plainArray(rows.map(({ count }) => count)),
    plainArray(rows.map(({ firstAtMs }) => firstAtMs)),
    plainArray(rows.map(({ lastAtMs }) => lastAtMs)),
    plainArray(rows.map(({ runId }) => runId)),
    plainArray(rows.map(({ jobId }) => jobId)),
    textArray(rows.map(({ jobIds }) => plainArray([...jobIds]))),
  ];
}
