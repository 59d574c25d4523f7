import { expect } from 'vitest';
import { ANOTHER_USER, testAsRoot } from '../../../tests/support/folder-of-another-user.ts';
import { asUser } from './as-user.ts';

const identity = () => ({
  uid: process.geteuid?.(),
  gid: process.getegid?.(),
  groups: new Set(process.getgroups?.()),
});

testAsRoot(
  'what is done as another user has their groups and none of root, and root is root again after it',
  () => {
    const before = identity();
    const { uid } = ANOTHER_USER;
    expect(asUser(uid, identity)).toEqual({ ...ANOTHER_USER, groups: new Set([ANOTHER_USER.gid]) });
    expect(() =>
      asUser(uid, () => {
        throw new Error('failed');
      }),
    ).toThrow('failed');
    expect(identity()).toEqual(before);
  },
);

testAsRoot('a user that the system does not know is in no group that means anything', () => {
  expect(asUser(54_321, identity)).toEqual({ uid: 54_321, gid: 65_534, groups: new Set([65_534]) });
});
