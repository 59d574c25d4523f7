/** Callers, grants and owners for property tests: few names, so that they meet. */
import fc from 'fast-check';
import { type Caller, EVERYWHERE, type Grant, type Owner } from './caller.ts';
import { ACTION_NAMES, type Action, ROLES } from './permissions.ts';

const NAMES = ['one', 'two', 'three'] as const;
const PEOPLE = ['ada', 'bob'] as const;

export const anyAction = fc.constantFrom(...ACTION_NAMES);

export const anyGrant: fc.Arbitrary<Grant> = fc.record({
  namespace: fc.constantFrom(...NAMES, EVERYWHERE),
  role: fc.constantFrom(...ROLES),
  ownOnly: fc.boolean(),
});

export const anyOwner: fc.Arbitrary<Owner> = fc.record({
  namespace: fc.constantFrom(...NAMES),
  userId: fc.constantFrom(...PEOPLE, undefined),
});

export const anyScopes: fc.Arbitrary<ReadonlySet<Action> | undefined> = fc.option(
  fc.subarray([...ACTION_NAMES]).map((actions) => new Set(actions)),
  { nil: undefined },
);

export const anyCaller: fc.Arbitrary<Caller> = fc.record({
  kind: fc.constantFrom('user' as const, 'key' as const),
  id: fc.constant('id'),
  name: fc.constant('somebody'),
  userId: fc.constantFrom(...PEOPLE, undefined),
  grants: fc.array(anyGrant, { maxLength: 4 }),
  scopes: anyScopes,
  origin: fc.constant({ address: undefined, userAgent: undefined, requestId: undefined }),
});
