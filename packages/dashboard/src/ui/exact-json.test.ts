import { describe, expect, test } from 'vitest';
import { readJson, roundingOf } from './exact-json.ts';

describe('JSON that somebody typed', () => {
  test.each([
    '{"a": [1, -2.50, 1e3, 0, -0.0, 9007199254740991, 1.7976931348623157e308, 0.1, 5E-1]}',
    '"12345678901234567890"',
    'null',
  ])('%s is read', (text) => expect(readJson(text)).toEqual({ value: JSON.parse(text) }));

  test.each([
    ['{"id": 12345678901234567890}', '12345678901234567890 would be rounded to 12345678901234567000'],
    ['[9007199254740993]', '9007199254740993 would be rounded to 9007199254740992'],
    ['0.12345678901234567891', '0.12345678901234567891 would be rounded to 0.12345678901234568'],
    ['{"n": {"m": 1e400}}', '1e400 is too large'],
    ['1e-400', '1e-400 would be rounded to 0'],
  ])('%s has a number that would be another one, and is not read', (text, why) => {
    expect(readJson(text)).toMatchObject({ isJson: true, wrong: expect.stringContaining(why) });
    expect(readJson(text).value).toBeUndefined();
  });

  test('what is no JSON is told', () => {
    expect(readJson('{"a": 1')).toMatchObject({
      isJson: false,
      wrong: expect.stringMatching(/^Not JSON yet/),
    });
  });
});

test('the advice is to write such a number as a text', () => {
  expect(readJson('-9007199254740993').wrong).toMatch(/: write it as a text, "-9007199254740993"\.$/);
});

test('what is only a part of a number is not rounded', () => {
  for (const typed of ['', '-', '1.', '1.0', '.5', '007', '99999999999999'])
    expect([typed, roundingOf(typed)]).toEqual([typed, undefined]);
});
