/** What a caller of the role matrix is to be answered: the same rules for every door. */
import { type Action, type Caller, knowsNamespace, may, sees } from '@carillon/domain';
import type { Access } from './api/operation.ts';
import { HERE } from './role-matrix.fixture.ts';

export type Expected = 'allowed' | 403 | 404;

export interface Rule {
  /** What the way in must be described with: the documents tell people nothing else than is tried here. */
  readonly needs: Access;
  readonly expected: (caller: Caller) => Expected;
}

export const allowedIf = (allowed: boolean, otherwise: 403 | 404 = 403): Expected =>
  allowed ? 'allowed' : otherwise;

/** About something that lies here: unseen it is not there, seen it needs the permission. */
export const here = (...actions: readonly Action[]): Rule => ({
  needs: actions,
  expected: (caller) =>
    sees(caller, HERE) ? allowedIf(actions.every((action) => may(caller, action, HERE))) : 404,
});

/** A list, or something that belongs to no namespace: the permission anywhere will do. */
export const somewhere = (...actions: readonly Action[]): Rule => ({
  needs: actions,
  expected: (caller) => allowedIf(actions.every((action) => may(caller, action))),
});

/** Made here: whoever makes something names its owner. */
export const newHere = (action: Action): Rule => ({
  needs: action,
  expected: (caller) => allowedIf(may(caller, action, HERE)),
});

export const everybody = (needs: 'open' | 'self'): Rule => ({ needs, expected: () => 'allowed' });

/** About somebody else, where everybody may ask about themselves. */
export const others = (action: Action): Rule => ({ ...somewhere(action), needs: 'self' });

export const keyHere = (action: 'keys.read' | 'keys.manage'): Rule => ({
  needs: 'self',
  expected: (caller) => {
    const owner = { namespace: HERE.namespace };
    if (!may(caller, 'keys.read', owner)) return allowedIf(false, may(caller, 'keys.read') ? 404 : 403);
    return allowedIf(may(caller, action, owner));
  },
});

export const newKeyHere: Rule = {
  needs: 'self',
  expected: (caller) =>
    knowsNamespace(caller, HERE.namespace)
      ? allowedIf(may(caller, 'keys.manage', { namespace: HERE.namespace }))
      : allowedIf(false, may(caller, 'keys.manage') ? 404 : 403),
};

export const namespaceHere: Rule = {
  needs: 'namespaces.read',
  expected: (caller) =>
    may(caller, 'namespaces.read') ? allowedIf(knowsNamespace(caller, HERE.namespace), 404) : 403,
};

/** Of the namespace here: unknown it is not there, for those who may do it somewhere. */
export const signingHere = (action: 'signing_keys.read' | 'signing_keys.manage'): Rule => ({
  needs: action,
  expected: (caller) =>
    knowsNamespace(caller, HERE.namespace)
      ? allowedIf(may(caller, action, { namespace: HERE.namespace }))
      : allowedIf(false, may(caller, action) ? 404 : 403),
});

/** A signing key that lies here. */
export const signingKeyHere: Rule = {
  needs: 'signing_keys.manage',
  expected: (caller) =>
    allowedIf(
      may(caller, 'signing_keys.manage', { namespace: HERE.namespace }),
      may(caller, 'signing_keys.manage') ? 404 : 403,
    ),
};
