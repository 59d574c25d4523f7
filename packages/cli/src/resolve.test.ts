import { expect, test } from 'vitest';
import { shortIds } from './resolve.ts';

test('short ids are beginnings, long enough to be told apart', () => {
  const [a, b, c] = [
    '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
    '01893f2e-7c12-7b3a-9d4e-5a6b7c8d9e0f',
    '01893f2e-7c12-7b3b-9d4e-5a6b7c8d9e0f',
  ] as const;
  expect([a, b].map(shortIds([a, b]))).toEqual(['01893f2e-7c11', '01893f2e-7c12']);
  expect([a, b, c].map(shortIds([a, b, c]))).toEqual([a, b, c].map((id) => id.slice(0, 18)));
  expect(shortIds([a, a])(a)).toBe('01893f2e-7c11');
  expect(shortIds([])(a)).toBe('01893f2e-7c11');
});
