import { expect, onTestFinished, test } from 'vitest';
import { WaitingLine } from './waiting-line.ts';

test('it says what is waited for and for how long, and is taken away', () => {
  let nowMs = 5_000;
  const written: string[] = [];
  const terminal = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const line = new WaitingLine(terminal, () => nowMs);
  onTestFinished(() => line.end());
  line.start('pending');
  nowMs += 12_345;
  line.draw();
  line.end();
  expect(written).toEqual(['\r\x1b[Kpending for 12 s; Ctrl-C ends the watching', '\r\x1b[K']);
});

test('it fits a terminal of 80 columns, however long it takes', () => {
  const written: string[] = [];
  const terminal = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const times = [0, 1_000 * 3_600_000];
  const line = new WaitingLine(terminal, () => times.shift() ?? 0);
  onTestFinished(() => line.end());
  line.start('completed');
  line.draw();
  expect(written[0]?.length).toBeLessThan(80);
});

test('without a terminal it is silent', () => {
  const line = new WaitingLine(undefined);
  line.start('pending');
  expect(() => line.end()).not.toThrow();
});
