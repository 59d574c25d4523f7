import { expect, test } from 'vitest';
import {
  defaultsOf,
  flag,
  integer,
  keptAs,
  plainFields,
  readFields,
  seconds,
  structured,
  text,
  word,
} from './field-kinds.ts';

const TABLE = {
  note: text({ lengthMax: 10, about: 'A note.' }),
  max_size: integer({ min: 1, max: 9, fallback: 5, about: 'A size.' }),
  wait_seconds: seconds({ min: 0, max: 60, fallback: 1_000, about: 'A pause.' }),
  longest_wait_seconds: keptAs('waitMsMax', seconds({ min: 0, max: 60, about: 'The longest pause.' })),
  strict: flag({ fallback: true, about: 'Whether.' }),
  size: word(['small', 'large'], { fallback: 'small', about: 'Which.' }),
  rule: structured('text', 'Read by hand.'),
};
const FIELDS = plainFields(TABLE, 'box');
const DEFAULTS = defaultsOf(TABLE);

test('what is left out stays as it is, null is the default, and durations are kept in milliseconds', () => {
  expect(DEFAULTS).toEqual({
    note: undefined,
    maxSize: 5,
    waitMs: 1_000,
    waitMsMax: undefined,
    strict: true,
    size: 'small',
  });
  const changed = readFields(FIELDS, { note: 'x', maxSize: 7, waitSeconds: 0.25, size: 'large' }, DEFAULTS);
  expect(changed).toEqual({ ...DEFAULTS, note: 'x', maxSize: 7, waitMs: 250, size: 'large' });
  expect(readFields(FIELDS, { maxSize: null, note: null, longestWaitSeconds: 2 }, changed)).toEqual({
    ...DEFAULTS,
    waitMs: 250,
    waitMsMax: 2_000,
    size: 'large',
  });
});

test('what is refused is named as the caller knows it', () => {
  const read = (given: object) => () => readFields(FIELDS, given, DEFAULTS);
  expect(read({ maxSize: 10 })).toThrow(
    expect.objectContaining({
      code: 'field_invalid',
      field: 'box.max_size',
      message: 'box.max_size must be a whole number from 1 to 9, and is 10.',
    }),
  );
  expect(read({ longestWaitSeconds: 61 })).toThrow('box.longest_wait_seconds must be a number from 0 to 60');
  expect(read({ note: ' ' })).toThrow('box.note is empty.');
});

test('what depends on other fields is left to be read by hand', () => {
  expect(FIELDS.map(({ property }) => property)).not.toContain('rule');
});
