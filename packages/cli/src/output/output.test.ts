import { afterEach, expect, test, vi } from 'vitest';
import { Output, type OutputOptions } from './output.ts';

afterEach(() => vi.unstubAllEnvs());

const outputTo = (stdout: object, over: Partial<OutputOptions> = {}) =>
  new Output({
    stdout: stdout as NodeJS.WriteStream,
    stderr: {} as NodeJS.WriteStream,
    ...{ format: 'table', utc: true, env: {}, ...over },
  });

/** What a list of these instants says on its two ways out. */
function listed(
  instants: readonly string[],
  { isTTY = false, ...over }: Partial<OutputOptions> & { isTTY?: boolean },
) {
  const said = { stdout: '', stderr: '' };
  const to = (name: keyof typeof said) => ({
    ...{ isTTY, columns: 80 },
    write: (text: string) => {
      said[name] += text;
      return true;
    },
  });
  const out = outputTo(to('stdout'), { stderr: to('stderr') as never, utc: false, ...over });
  const columns = [
    { header: 'FULL', value: (at: string) => out.shortTime(at) },
    { header: 'BRIEF', value: (at: string) => out.briefTime(at) },
    { header: 'DAY', value: (at: string) => out.dayOrTime(at) },
  ];
  out.list(instants, columns, { empty: 'none' });
  return { ...said, out };
}

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

test('a table on a terminal says its time zone once, below it', () => {
  vi.stubEnv('TZ', 'America/New_York');
  const { stdout, stderr, out } = listed(['2100-07-01T12:00:00.250Z'], { isTTY: true });
  expect(stdout).toContain('2100-07-01 08:00:00  2100-07-01 08:00  on 2100-07-01\n');
  expect(stderr).toBe('Times are in America/New_York.\n');
  // What stands alone says it by itself.
  expect(out.shortTime('2100-07-01T12:00:00Z')).toBe('2100-07-01 08:00:00-04:00');
  expect(out.time('2100-07-01T12:00:00Z')).toBe('2100-07-01 08:00:00-04:00');
});

test('a table for programs, and one of all columns, has the offset in every time', () => {
  vi.stubEnv('TZ', 'America/New_York');
  const piped = listed(['2100-07-01T12:00:00Z'], {});
  const time = '2100-07-01 08:00:00-04:00';
  expect(piped.stdout).toContain(`${time}  ${time}  at ${time}\n`);
  const wide = listed(['2100-07-01T12:00:00Z'], { isTTY: true, format: 'wide' });
  expect(wide.stdout).toContain(`${time}  2100-07-01 08:00-04:00  on 2100-07-01\n`);
  expect([piped.stderr, wide.stderr]).toEqual(['', '']);
});

test('in UTC every time says so, and a table without times says nothing', () => {
  const { stdout, stderr } = listed(['2100-07-01T12:00:00Z'], { isTTY: true, utc: true });
  expect(stdout).toContain('2100-07-01 12:00:00Z  2100-07-01 12:00Z  on 2100-07-01\n');
  expect(stderr).toBe('');
  expect(listed([''], { isTTY: true }).stderr).toBe('');
});

test('on a terminal what is of today has a time without an offset in a stream', () => {
  vi.stubEnv('TZ', 'America/New_York');
  const out = outputTo({ isTTY: true }, { utc: false });
  const now = new Date().toISOString();
  expect(out.moment(now)).toMatch(/^\d\d:\d\d:\d\d(?:\.\d+)?$|^\d{4}-/);
  expect(outputTo({}, { utc: false }).moment('2100-07-01T12:00:00Z')).toBe('2100-07-01 08:00:00-04:00');
});
