import { expect, test } from 'vitest';
import { LogBuffer, ROWS_MAX } from './log-buffer.ts';

const line = (text: string) =>
  ({ kind: 'line', at: '2030-01-01T00:00:00Z', stream: 'stdout', text }) as const;

test('readers are told once for all lines of a frame', () => {
  const frames: (() => void)[] = [];
  const buffer = new LogBuffer((tell) => frames.push(tell));
  let told = 0;
  buffer.subscribe(() => {
    told += 1;
  });
  for (let i = 0; i < 1_000; i += 1) buffer.add(line(String(i)));
  expect([frames.length, told]).toEqual([1, 0]);
  frames[0]!();
  expect([told, buffer.version(), buffer.rows.length]).toEqual([1, 1, 1_000]);
  buffer.add(line('later'));
  expect(frames).toHaveLength(2);
});

test('a long log keeps its end, and says how much is left out', () => {
  const buffer = new LogBuffer(() => {});
  for (let i = 1; i <= ROWS_MAX + 50_000; i += 1) buffer.add(line(String(i)));
  expect(buffer.rows.length).toBeLessThanOrEqual(ROWS_MAX + 20_000);
  expect(buffer.rows.at(-1)).toMatchObject({ number: ROWS_MAX + 50_000, text: String(ROWS_MAX + 50_000) });
  expect(buffer.left + buffer.rows.length).toBe(ROWS_MAX + 50_000);
  expect(buffer.rows[0]!.number).toBe(buffer.left + 1);
});
