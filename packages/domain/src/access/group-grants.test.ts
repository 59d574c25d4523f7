import { expect, test } from 'vitest';
import { grantsOfGroups, parseGroupGrant } from './group-grants.ts';

test.each([
  ['staff=viewer@*', { group: 'staff', grant: { namespace: '*', role: 'viewer', ownOnly: false } }],
  [
    'CN=ops,DC=x=operator@team-1:own',
    { group: 'CN=ops,DC=x', grant: { namespace: 'team-1', role: 'operator', ownOnly: true } },
  ],
  [
    'support=observer@team-1',
    { group: 'support', grant: { namespace: 'team-1', role: 'observer', ownOnly: false } },
  ],
  ['staff=owner@x', undefined],
  ['staff=viewer', undefined],
  ['=viewer@x', undefined],
  ['staff=viewer@Not a name', undefined],
])('%s is read as %j', (text, read) => {
  expect(parseGroupGrant(text)).toEqual(read);
});

test('of several groups the strongest role in each namespace counts, and * is everybody', () => {
  const lines = ['*=viewer@a', 'x=editor@a', 'x=operator@a', 'x=editor@a:own', 'y=admin@*'].map(
    (line) => parseGroupGrant(line)!,
  );
  expect(grantsOfGroups([], lines)).toEqual([{ namespace: 'a', role: 'viewer', ownOnly: false }]);
  expect(grantsOfGroups(['x'], lines)).toEqual([
    { namespace: 'a', role: 'editor', ownOnly: false },
    { namespace: 'a', role: 'editor', ownOnly: true },
  ]);
});
