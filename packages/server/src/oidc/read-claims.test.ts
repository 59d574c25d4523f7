import { expect, test } from 'vitest';
import { claimAt, personOf } from './read-claims.ts';

test('claims are found by name or path, and nothing inherited is one', () => {
  expect(claimAt({ realm_access: { roles: ['a'] } }, 'realm_access.roles')).toEqual(['a']);
  expect(claimAt({ 'https://x.example/groups': ['a'] }, 'https://x.example/groups')).toEqual(['a']);
  expect(claimAt({}, 'constructor')).toBeUndefined();
  expect(claimAt({ a: 'text' }, 'a.length.toFixed')).toBeUndefined();
});

test.each([
  [{ preferred_username: 'Ada Lovelace' }, 'ada-lovelace'],
  [{ preferred_username: '***', email: 'Ada@Example.org' }, 'ada@example.org'],
  [{ preferred_username: 'Zoë' }, 'zoe-'.slice(0, 3)],
  [{}, 'x'],
])('%j is called %s', (claims, name) => {
  expect(personOf({ iss: 'i', sub: 'x', ...claims }, { groupsClaim: 'groups' }).name).toBe(name);
});

test('what is shown of somebody is one line, without characters that hide or turn others', () => {
  const claims = { iss: 'i', sub: 'x', name: 'Ada\u202eLove\u200blace\u0085\u200dB' };
  expect(personOf(claims, { groupsClaim: 'groups' }).displayName).toBe('Ada Love lace \u200dB');
});
