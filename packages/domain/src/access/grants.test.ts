import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyAction, anyCaller, anyGrant, anyOwner, anyScopes } from './access-arbitraries.ts';
import { knowsNamespace, may, SERVER, sees } from './caller.ts';
import { grantsWithin, mayHandOut, requireGrantable } from './grants.ts';
import { ACTION_NAMES } from './permissions.ts';

const someGrants = fc.array(anyGrant, { minLength: 1, maxLength: 3 });

describe('a key of somebody', () => {
  it('has each right once', () => {
    const viewer = { namespace: 'ops', role: 'viewer', ownOnly: false } as const;
    const editorOfOwn = { namespace: 'ops', role: 'editor', ownOnly: true } as const;
    const both = [viewer, editorOfOwn];
    expect(grantsWithin(both, both)).toEqual(both);
    expect(grantsWithin([{ ...viewer, namespace: '*', role: 'admin' }], both)).toEqual(both);
    expect(grantsWithin([viewer, viewer], [viewer])).toEqual([viewer]);
  });

  it('never may more than its owner may now, nor more than it was made for', () => {
    fc.assert(
      fc.property(anyCaller, someGrants, anyAction, anyOwner, (owner, grants, action, jobOwner) => {
        const key = { ...owner, grants: grantsWithin(grants, owner.grants) };
        const unlimited = { ...owner, grants };
        for (const where of [jobOwner, undefined]) {
          if (!may(key, action, where)) continue;
          expect(may(owner, action, where)).toBe(true);
          expect(may(unlimited, action, where)).toBe(true);
        }
        if (sees(key, jobOwner)) expect(sees(owner, jobOwner) && sees(unlimited, jobOwner)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps all that both have', () => {
    fc.assert(
      fc.property(anyCaller, someGrants, anyAction, anyOwner, (owner, grants, action, jobOwner) => {
        const key = { ...owner, grants: grantsWithin(grants, owner.grants) };
        const both = may(owner, action, jobOwner) && may({ ...owner, grants }, action, jobOwner);
        expect(may(key, action, jobOwner)).toBe(both);
      }),
      { numRuns: 500 },
    );
  });
});

describe('handing out rights', () => {
  it('nobody can hand out what they may not do themselves', () => {
    fc.assert(
      fc.property(
        anyCaller,
        anyGrant,
        anyScopes,
        anyAction,
        anyOwner,
        (maker, grant, scopes, action, jobOwner) => {
          fc.pre(mayHandOut(maker, { grant, scopes }));
          // The same person uses what they made: of their own jobs means the same ones.
          const made = { ...maker, grants: [grant], scopes };
          for (const where of [jobOwner, undefined]) {
            if (may(made, action, where)) expect(may(maker, action, where)).toBe(true);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('a key that may only manage users cannot make an administrator', () => {
    const grant = SERVER.grants[0]!;
    const narrow = { ...SERVER, scopes: new Set(['users.manage'] as const) };
    expect(mayHandOut(narrow, { grant, scopes: undefined })).toBe(false);
    expect(mayHandOut(narrow, { grant, scopes: new Set(['users.manage']) })).toBe(true);
    expect(mayHandOut({ ...SERVER, scopes: new Set(ACTION_NAMES) }, { grant, scopes: undefined })).toBe(true);
    expect(() => requireGrantable(narrow, { grant, scopes: undefined })).toThrow(
      'To hand out admin everywhere, server needs the permission jobs.read.',
    );
  });

  it('rights over all jobs do not follow from rights over one’s own', () => {
    const own = { namespace: 'one', role: 'admin', ownOnly: true } as const;
    const maker = { ...SERVER, grants: [own] };
    expect(mayHandOut(maker, { grant: own, scopes: undefined })).toBe(true);
    expect(mayHandOut(maker, { grant: { ...own, ownOnly: false }, scopes: undefined })).toBe(false);
    expect(() => requireGrantable(maker, { grant: { ...own, ownOnly: false }, scopes: undefined })).toThrow(
      'To hand out admin in the namespace one, server needs that role there, or a higher one.',
    );
  });
});

describe('knowing of a namespace', () => {
  it('takes any grant in it, or one for the whole', () => {
    const own = { namespace: 'one', role: 'viewer', ownOnly: true } as const;
    expect(knowsNamespace({ ...SERVER, grants: [own] }, 'one')).toBe(true);
    expect(knowsNamespace({ ...SERVER, grants: [own] }, 'two')).toBe(false);
    expect(knowsNamespace(SERVER, 'two')).toBe(true);
  });
});
