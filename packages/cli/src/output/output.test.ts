import { expect, test } from 'vitest';
import { Output } from './output.ts';

const outputTo = (stdout: object) =>
  new Output({
    stdout: stdout as NodeJS.WriteStream,
    stderr: {} as NodeJS.WriteStream,
    format: 'table',
    utc: true,
    env: {},
  });

test('on a terminal what is of today is told by its time, and the rest by its day', () => {
  const out = outputTo({ isTTY: true });
  expect(out.dayOrTime('2100-03-01T12:00:00Z')).toBe('on 2100-03-01');
  const now = new Date();
  // A midnight between the two looks at the clock makes it a day, which is right as well.
  const [day, time] = [now.toISOString().slice(0, 10), now.toISOString().slice(11, 16)];
  expect([`at ${time}Z`, `on ${day}`]).toContain(out.dayOrTime(now.toISOString()));
});

test('elsewhere an instant is told whole', () => {
  expect(outputTo({}).dayOrTime('2100-03-01T12:00:00.250Z')).toBe('at 2100-03-01 12:00:00Z');
});
