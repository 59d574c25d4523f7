import { type Caller, type Grant, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { claimantOf, SharedLimit } from './shared-limit.ts';

const ACTION = 'events.read';
const admin = (namespace: string): Grant => ({ namespace, role: 'admin', ownOnly: false });
let keys = 0;
let limit: SharedLimit;

beforeEach(() => {
  limit = new SharedLimit({ what: 'logs are read', eachMax: 5, totalMax: 20 });
});

/** A key of nobody that differs from all others. */
function keyOf(grants: readonly Grant[], makerId?: string): Caller {
  keys += 1;
  const [id, name] = [`${keys}`, `key ${keys}`];
  const credential = { kind: 'key', id, name, makerId, expiresAtMs: undefined } as const;
  return { ...SERVER, kind: 'key', id, name, grants, credential };
}

const join = (caller: Caller) => limit.join(claimantOf(caller, ACTION));

/** How many callers find room, one after the other. */
function joined(next: () => Caller): number {
  for (let count = 0; ; count += 1) {
    if (limit.refusalOf(claimantOf(next(), ACTION))) return count;
    join(next());
  }
}

describe('a limit that callers share', () => {
  test('bounds each caller, who is told so', () => {
    const one = keyOf([admin('a')]);
    for (let i = 0; i < 5; i += 1) join(one);
    expect(() => join(one)).toThrow('5 logs are read for you already; close one of these streams.');
    expect(limit.refusalOf(claimantOf(one, ACTION))).toMatchObject({ code: 'too_many_listeners' });
    expect(() => join(keyOf([admin('a')]))).not.toThrow();
  });

  test('counts who leaves once', () => {
    const one = keyOf([admin('a')]);
    const leaves = Array.from({ length: 5 }, () => join(one));
    leaves[0]!();
    leaves[0]!();
    expect(limit.total).toBe(4);
    join(one);
    expect(() => join(one)).toThrow('for you');
  });

  test('leaves room beside all keys of one namespace', () => {
    expect(joined(() => keyOf([admin('a')]))).toBe(8);
    expect(() => join(keyOf([admin('a'), admin('b')]))).toThrow(
      '8 logs are read for the namespace a already',
    );
    expect(joined(() => keyOf([admin('b')]))).toBe(8);
  });

  test('leaves room beside all keys that one person has made, whatever namespaces they are of', () => {
    expect(joined(() => keyOf([admin(`of ${keys}`)], 'ann'))).toBe(12);
    const ann = { ...keyOf([admin('a')]), kind: 'user', userId: 'ann', credential: undefined } as const;
    expect(() => join(ann)).toThrow('12 logs are read with keys of one person already');
    expect(() => join(keyOf([admin('a')], 'bob'))).not.toThrow();
  });

  test('leaves room to the other keys of a person when those of one namespace use all of theirs', () => {
    expect(joined(() => keyOf([admin('a')], 'ann'))).toBe(8);
    expect(joined(() => keyOf([admin('b')], 'ann'))).toBe(4);
  });

  test('keeps the last tenth for callers of the whole installation, whoever made their keys', () => {
    expect(joined(() => keyOf([admin(`of ${keys}`)]))).toBe(18);
    expect(limit.refusalOf(claimantOf(keyOf([admin('a')]), ACTION))).toMatchObject({
      ...{ code: 'overloaded', message: '18 logs are read in total already; try again later.' },
    });
    expect(joined(() => keyOf([admin('*')], 'ann'))).toBe(2);
    expect(() => join(SERVER)).toThrow('20 logs are read in total');
  });

  test('counts for the namespaces where the caller may do it, and without an action for all', () => {
    const caller = { ...keyOf([{ ...admin('a'), role: 'viewer' }, admin('b')]), userId: undefined };
    const names = (action?: 'workers.connect') => claimantOf(caller, action).shares.map(({ of }) => of);
    expect(names('workers.connect')).toEqual(['namespace b']);
    expect(names()).toEqual(['namespace a', 'namespace b']);
  });

  test('takes who sees their own jobs everywhere neither for a namespace nor for the installation', () => {
    const own = { ...keyOf([{ ...admin('*'), ownOnly: true }]), userId: 'ann' };
    for (const claimant of [claimantOf(own, ACTION), claimantOf(own)]) {
      expect(claimant).toMatchObject({ shares: [{ of: 'maker ann' }], mayUseKept: false });
    }
  });

  test.each([0, 1, 2])('of %i is no less', (totalMax) => {
    limit = new SharedLimit({ what: 'logs are read', eachMax: 5, totalMax });
    expect(joined(() => keyOf([admin(`of ${keys}`)]))).toBe(totalMax);
  });
});
