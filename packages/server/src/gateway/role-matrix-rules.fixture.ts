/** What a caller of the role matrix is to be answered: the same rules for every door. */
import { type Action, type Caller, knowsNamespace, may, mayHandOut, sees } from '@carillon/domain';
import type { Access } from './api/operation.ts';
import { HERE } from './role-matrix.fixture.ts';

export type Expected = 'allowed' | 403 | 404 | 409;

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

/** Replaces what lies here; to whoever does not see it, it is as if they made something new. */
export const applyHere: Rule = {
  needs: ['jobs.create', 'jobs.update'],
  expected: (caller) => allowedIf(sees(caller, HERE) && may(caller, 'jobs.update', HERE)),
};

export const everybody = (needs: 'open' | 'self'): Rule => ({ needs, expected: () => 'allowed' });

/** About somebody else, where everybody may ask about themselves. */
export const others = (action: Action): Rule => ({ ...somewhere(action), needs: 'self' });

/** A list of what belongs to people: their own for everybody who is one. */
export const ownOrOthers = (action: Action): Rule => ({
  needs: 'self',
  expected: (caller) => allowedIf(isPerson(caller) || may(caller, action)),
});

/** The session of somebody else: for other people as if it were not there. */
export const sessionOfOthers: Rule = {
  needs: 'self',
  expected: (caller) => allowedIf(may(caller, 'users.manage'), isPerson(caller) ? 404 : 403),
};

/** What a person keeps for themselves; a key that is limited to some permissions is no person. */
export const ofPersons: Rule = {
  needs: 'self',
  expected: (caller) => (isPerson(caller) && caller.scopes === undefined ? 'allowed' : 409),
};

const isPerson = ({ userId }: Caller) => userId !== undefined;

export const keyHere = (action: 'keys.read' | 'keys.manage'): Rule => ({
  needs: 'self',
  expected: (caller) => {
    const owner = { namespace: HERE.namespace };
    const isUnseen = isPerson(caller) || may(caller, 'keys.read');
    if (!may(caller, 'keys.read', owner)) return allowedIf(false, isUnseen ? 404 : 403);
    return allowedIf(may(caller, action, owner));
  },
});

export const newKeyHere: Rule = {
  needs: 'self',
  expected: (caller) => {
    const { namespace } = HERE;
    if (!knowsNamespace(caller, namespace)) {
      return allowedIf(false, isPerson(caller) || may(caller, 'keys.manage') ? 404 : 403);
    }
    const grant = { namespace, role: 'viewer', ownOnly: false } as const;
    return allowedIf(
      isPerson(caller)
        ? mayHandOut(caller, { grant, scopes: undefined })
        : may(caller, 'keys.manage', { namespace }),
    );
  },
};

/** A worker key here: takes both permissions, also of people. */
export const newWorkerKeyHere: Rule = {
  needs: 'self',
  expected: (caller) => {
    const { namespace } = HERE;
    if (!knowsNamespace(caller, namespace)) {
      return allowedIf(false, isPerson(caller) || may(caller, 'keys.manage') ? 404 : 403);
    }
    return allowedIf(
      may(caller, 'keys.manage', { namespace }) && may(caller, 'workers.connect', { namespace }),
    );
  },
};

export const namespaceHere: Rule = {
  needs: 'namespaces.read',
  expected: (caller) =>
    may(caller, 'namespaces.read') ? allowedIf(knowsNamespace(caller, HERE.namespace), 404) : 403,
};

/** Of the namespace here: unknown it is not there, for those who may do it somewhere. */
export const inNamespaceHere = (
  action: 'signing_keys.read' | 'signing_keys.manage' | 'secrets.read' | 'secrets.manage',
): Rule => ({
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
