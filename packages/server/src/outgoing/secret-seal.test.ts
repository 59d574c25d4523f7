import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SecretSeal } from './secret-seal.ts';

const keyText = () => `${randomBytes(32).toString('base64')}\n`;

test('a sealed secret shows nothing of it, and opens for its owner alone', () => {
  const seal = new SecretSeal(keyText());
  const stored = seal.seal('c2VjcmV0', 'key-1');
  expect(stored).not.toContain('c2VjcmV0');
  expect(seal.seal('c2VjcmV0', 'key-1')).not.toBe(stored);
  expect(seal.open(stored, 'key-1')).toBe('c2VjcmV0');
  expect(() => seal.open(stored, 'key-2')).toThrow('not the one it was encrypted with');
});

test('another key file, or none, is named as the reason', () => {
  const stored = new SecretSeal(keyText()).seal('c2VjcmV0', 'key-1');
  expect(() => new SecretSeal(keyText()).open(stored, 'key-1')).toThrow('not the one it was encrypted with');
  expect(() => new SecretSeal().open(stored, 'key-1')).toThrow('no secrets.key_file');
});

test('what was stored without a key file can be read with one', () => {
  const stored = new SecretSeal().seal('c2VjcmV0', 'key-1');
  expect(new SecretSeal(keyText()).open(stored, 'key-1')).toBe('c2VjcmV0');
});

test.each(['', 'short', randomBytes(31).toString('base64'), 'x'.repeat(44), `${'é'.repeat(43)}=`])(
  'a key file with %j is refused',
  (text) => {
    expect(() => new SecretSeal(text)).toThrow('32 bytes in base64');
  },
);

test('the first of several keys encrypts, and all of them open', () => {
  const [old, next] = [keyText(), keyText()];
  const stored = new SecretSeal(old).seal('c2VjcmV0', 'key-1');
  const both = new SecretSeal(`${next}${old}`);
  expect(both.open(stored, 'key-1')).toBe('c2VjcmV0');
  expect(stored.startsWith(both.beginning!)).toBe(false);
  const anew = both.seal('c2VjcmV0', 'key-1');
  expect(anew.startsWith(both.beginning!)).toBe(true);
  expect(new SecretSeal(next).open(anew, 'key-1')).toBe('c2VjcmV0');
  expect(() => new SecretSeal(old).open(anew, 'key-1')).toThrow('not the one it was encrypted with');
});

test('what an earlier version encrypted, without the name of its key, opens', () => {
  const [old, next] = [keyText(), keyText()];
  const stored = new SecretSeal(old).seal('c2VjcmV0', 'key-1').replace(/:[0-9a-f]{12}:/, ':');
  expect(new SecretSeal(`${next}${old}`).open(stored, 'key-1')).toBe('c2VjcmV0');
});
