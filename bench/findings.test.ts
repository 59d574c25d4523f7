import { expect, it } from 'vitest';
import { bound, findingsOf } from './findings.ts';
import { milliseconds, times } from './text-table.ts';

const p99 = bound('P3', 'the delay', { below: 50 }, milliseconds);

it('a figure is held against its limit, and both are told in the same words', () => {
  expect(p99.judge(49)).toEqual({
    bar: 'P3',
    what: 'the delay',
    limit: '< 50 ms',
    measured: '49 ms',
    verdict: 'met',
  });
  expect(p99.judge(50).verdict).toBe('not met');
  expect(bound('P9', 'runs', { atMost: 1 }).judge(1)).toMatchObject({ limit: '≤ 1', verdict: 'met' });
  expect(bound('P9', 'ratio', { atLeast: 0.7 }, times).judge(0.69, 'less')).toMatchObject({
    limit: '≥ 0.70 ×',
    measured: 'less',
    verdict: 'not met',
  });
});

it('what cannot be measured fails every claim, with the reason', async () => {
  const reasons: string[] = [];
  const failing = () => Promise.reject(new Error('no answer'));
  const findings = await findingsOf([p99], failing, (reason) => reasons.push(reason));
  expect(findings).toEqual([
    { bar: 'P3', what: 'the delay', limit: '< 50 ms', measured: 'no answer', verdict: 'failed' },
  ]);
  expect(reasons).toEqual(['no answer']);
});
