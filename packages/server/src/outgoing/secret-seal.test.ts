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
