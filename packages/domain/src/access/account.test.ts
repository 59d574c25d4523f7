import { describe, expect, it } from 'vitest';
import { readUserName, requireGrants, requirePassword } from './account.ts';

describe('the name of a user', () => {
  it('is written in small letters, whatever was typed', () => {
    expect(readUserName('  Ada.Lovelace@Example.org ')).toBe('ada.lovelace@example.org');
  });

  it.each(['', '-ada', 'ada lovelace', 'a\u0000da', 'ädä', 'a'.repeat(101), '../etc'])(
    'is not %j',
    (name) => {
      expect(() => readUserName(name)).toThrow('name is made of');
    },
  );
});

describe('a password', () => {
  const required = (password: string, userName = 'ada') =>
    requirePassword(password, { field: 'password', userName });

  it('may hold anything, as long as it is long', () => {
    expect(required('correct horse')).toBe('correct horse');
    expect(required('длинный пароль')).toBe('длинный пароль');
  });

  it.each([
    ['short', 'at least 12'],
    ['x'.repeat(257), 'at most 256'],
    ['aaaaaaaaaaaaaaaa', 'repeats'],
    ['half a \ud800 character', 'half a character'],
  ])('%j is refused', (password, reason) => {
    expect(() => required(password)).toThrow(reason);
  });

  it('does not contain the name', () => {
    expect(() => required('Lovelace2030!', 'lovelace')).toThrow('must not contain the name');
    expect(required('canada is far away', 'ada')).toBe('canada is far away');
  });
});

describe('grants', () => {
  const grant = { namespace: 'one', role: 'viewer', ownOnly: false } as const;

  it('of one place may differ in whose jobs they are about', () => {
    expect(requireGrants([grant, { ...grant, ownOnly: true, role: 'editor' }])).toHaveLength(2);
    expect(requireGrants([{ ...grant, namespace: '*' }])).toHaveLength(1);
  });

  it('do not name the same place twice, nor one that cannot be', () => {
    expect(() => requireGrants([grant, { ...grant, role: 'admin' }])).toThrow('twice');
    expect(() => requireGrants([{ ...grant, namespace: 'No Such' }])).toThrow('small letters');
    expect(() => requireGrants(Array.from({ length: 201 }, () => grant))).toThrow('more than 200');
  });
});
