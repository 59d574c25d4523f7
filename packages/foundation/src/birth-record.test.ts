/** What a folder says of where it was made is believed only when the system says the same. */
import { describe, expect, test } from 'vitest';
import { agreesWithBirth, birthRecord } from './birth-record.ts';

const HERE = { ino: 7n, birthtimeNs: 1_000_000_001n, ctimeNs: 2_000_000_000n };

test('a record agrees with its own folder, whenever that is changed or renamed', () => {
  expect(agreesWithBirth(birthRecord(HERE), { ...HERE, ctimeNs: 3_000_000_000n })).toBe(true);
});

test('a record agrees with a folder whose disk is attached elsewhere, under another number', () => {
  expect(agreesWithBirth(birthRecord(HERE), { ...HERE, ino: 8n })).toBe(true);
});

test('a record that knows the number alone agrees with no folder whose birth is told', () => {
  const guessed = birthRecord({ ...HERE, birthtimeNs: 1_000_000_000n });
  expect(agreesWithBirth(guessed, HERE)).toBe(false);
});

describe('where the system does not tell when a folder was made', () => {
  test.each([
    ['nothing', { ...HERE, birthtimeNs: 0n }],
    ['when it was changed last', { ...HERE, birthtimeNs: HERE.ctimeNs }],
  ])('but %s, its number counts', (_, here) => {
    expect(agreesWithBirth(birthRecord({ ...here, birthtimeNs: 5n }), here)).toBe(true);
    expect(agreesWithBirth(birthRecord({ ...here, ino: 8n }), here)).toBe(false);
  });
});

test.each([undefined, '', '{', 'null', '[]', '{"inode":7,"born":1000000001}'])(
  '%j agrees with nothing',
  (record) => {
    expect(agreesWithBirth(record, HERE)).toBe(false);
    expect(agreesWithBirth(record, { ...HERE, birthtimeNs: 0n })).toBe(false);
  },
);
