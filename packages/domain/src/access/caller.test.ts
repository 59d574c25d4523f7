import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyAction, anyCaller, anyGrant, anyOwner, anyScopes } from './access-arbitraries.ts';
import {
  type Caller,
  EVERYWHERE,
  homeOf,
  may,
  requireMay,
  SERVER,
  sees,
  stranger,
  visibleTo,
} from './caller.ts';
import { ACTION_NAMES, INSTALLATION_ACTIONS } from './permissions.ts';

const ADA: Caller = { ...SERVER, kind: 'user', id: 'ada', name: 'ada', userId: 'ada', grants: [] };
const elsewhere = { namespace: 'elsewhere', userId: 'ada' };

describe('what a caller may', () => {
  it('without a grant nothing is allowed, and nothing is seen', () => {
    for (const caller of [ADA, stranger(SERVER.origin)]) {
      for (const action of ACTION_NAMES) {
        expect(may(caller, action)).toBe(false);
        expect(may(caller, action, elsewhere)).toBe(false);
        expect(visibleTo(caller, action)).toEqual([]);
      }
      expect(sees(caller, elsewhere)).toBe(false);
    }
  });

  it('a grant in a namespace never reaches into another', () => {
    fc.assert(
      fc.property(anyCaller, anyAction, (caller, action) => {
        const local = {
          ...caller,
          grants: caller.grants.filter(({ namespace }) => namespace !== EVERYWHERE),
        };
        expect(may(local, action, elsewhere)).toBe(false);
        expect(sees(local, elsewhere)).toBe(false);
        expect(visibleTo(local, action)?.some(({ namespace }) => namespace === 'elsewhere')).toBe(false);
      }),
    );
  });

  it('a grant in a namespace never reaches what belongs to none', () => {
    fc.assert(
      fc.property(anyCaller, fc.constantFrom(...INSTALLATION_ACTIONS), anyOwner, (caller, action, owner) => {
        const local = {
          ...caller,
          grants: caller.grants.filter(({ namespace }) => namespace !== EVERYWHERE),
        };
        expect(may(local, action)).toBe(false);
        expect(may(local, action, owner)).toBe(false);
      }),
    );
  });

  it('whoever may only touch their own jobs touches no others, and nothing that belongs to nobody', () => {
    fc.assert(
      fc.property(anyCaller, anyAction, anyOwner, (caller, action, owner) => {
        const own = { ...caller, grants: caller.grants.map((grant) => ({ ...grant, ownOnly: true })) };
        fc.pre(owner.userId === undefined || owner.userId !== own.userId);
        expect(may(own, action, owner)).toBe(false);
        expect(sees(own, owner)).toBe(false);
        if (INSTALLATION_ACTIONS.has(action)) expect(may(own, action)).toBe(false);
        for (const { userId } of visibleTo(own, action) ?? [{ userId: undefined }]) {
          expect(userId).toBe(own.userId);
          expect(userId).toBeDefined();
        }
      }),
    );
  });

  it('scopes only ever narrow', () => {
    fc.assert(
      fc.property(anyCaller, anyScopes, anyAction, anyOwner, (caller, scopes, action, owner) => {
        const free = { ...caller, scopes: undefined };
        const scoped = { ...caller, scopes };
        if (may(scoped, action, owner)) expect(may(free, action, owner)).toBe(true);
        if (scopes && !scopes.has(action)) {
          expect(may(scoped, action, owner)).toBe(false);
          expect(visibleTo(scoped, action)).toEqual([]);
        }
        if (scopes?.has(action)) expect(visibleTo(scoped, action)).toEqual(visibleTo(free, action));
      }),
    );
  });

  it('more grants never allow less', () => {
    fc.assert(
      fc.property(anyCaller, anyGrant, anyAction, anyOwner, (caller, grant, action, owner) => {
        const richer = { ...caller, grants: [...caller.grants, grant] };
        if (may(caller, action, owner)) expect(may(richer, action, owner)).toBe(true);
        if (sees(caller, owner)) expect(sees(richer, owner)).toBe(true);
      }),
    );
  });

  it('a list shows exactly what may be read one by one', () => {
    fc.assert(
      fc.property(anyCaller, anyOwner, (caller, owner) => {
        const visible = visibleTo(caller, 'jobs.read');
        const listed =
          visible === undefined ||
          visible.some(
            ({ namespace, userId }) =>
              (namespace === EVERYWHERE || namespace === owner.namespace) &&
              (userId === undefined || userId === owner.userId),
          );
        expect(listed).toBe(may(caller, 'jobs.read', owner));
      }),
    );
  });

  it('the refusal names the permission and the place', () => {
    expect(() => requireMay(ADA, 'jobs.run', elsewhere)).toThrow(
      'There is no namespace elsewhere, or ada has no rights in it: it needs the permission jobs.run there.',
    );
    const login = { ...ADA, name: 'login on a laptop', userName: 'ada' };
    expect(() => requireMay(login, 'users.read')).toThrow('ada may not do this: it needs');
    expect(() => requireMay(ADA, 'users.read')).toThrow('ada may not do this: it needs');
  });
});

describe('where a job goes that names no namespace', () => {
  const editorIn = (...namespaces: string[]): Caller => ({
    ...ADA,
    grants: namespaces.map((namespace) => ({ namespace, role: 'editor', ownOnly: false })),
  });

  it('is the only one its maker may make jobs in', () => {
    expect(homeOf(editorIn('billing'))).toBe('billing');
    const viewer = { namespace: 'other', role: 'viewer', ownOnly: false } as const;
    expect(homeOf({ ...ADA, grants: [...editorIn('billing').grants, viewer] })).toBe('billing');
  });

  it('is the default one for whoever may in several, everywhere or nowhere', () => {
    expect(homeOf(editorIn('billing', 'other'))).toBe('default');
    expect(homeOf(editorIn(EVERYWHERE))).toBe('default');
    expect(homeOf(ADA)).toBe('default');
  });
});
