/**
 * How rights are compared and cut down. A key never carries more than its owner has at the moment it is used, and nobody
 * can hand out more than they have themselves.
 */
import { Refusal } from '../errors/refusal.ts';
import { type Caller, EVERYWHERE, type Grant } from './caller.ts';
import { ACTION_NAMES, type Action, ROLES, type Role, roleAllows } from './permissions.ts';

/** What is left of one grant within others: the lesser role, in the narrower owner, of their own jobs where either says so. */
export function grantWithin(grant: Grant, others: readonly Grant[]): Grant[] {
  return others.flatMap((other) => {
    const namespace = narrower(grant.namespace, other.namespace);
    if (namespace === undefined) return [];
    return [{ namespace, role: lesser(grant.role, other.role), ownOnly: grant.ownOnly || other.ownOnly }];
  });
}

/** The same for several, without those that another of them holds already. */
export function grantsWithin(grants: readonly Grant[], others: readonly Grant[]): Grant[] {
  const left = grants.flatMap((grant) => grantWithin(grant, others));
  return left.filter(
    (grant, i) =>
      !left.some((other, j) => i !== j && includes(other, grant) && (j < i || !includes(grant, other))),
  );
}

/** Whether these hold every one of the others. */
export function holdsAll(grants: readonly Grant[], others: readonly Grant[]): boolean {
  return others.every((other) => grants.some((own) => includes(own, other)));
}

export interface Handout {
  readonly grant: Grant;
  /** Undefined: everything that the role may. */
  readonly scopes: ReadonlySet<Action> | undefined;
}

/** One of the caller's own grants must hold the whole of it, and so must the scopes of the key they came with. */
export function mayHandOut(caller: Caller, handout: Handout): boolean {
  return holds(caller, handout.grant) && beyondScopes(caller, handout) === undefined;
}

function holds(caller: Caller, grant: Grant): boolean {
  return caller.grants.some((own) => includes(own, grant));
}

/** Whoever has the one has all of the other. */
function includes(one: Grant, other: Grant): boolean {
  return (
    (one.namespace === EVERYWHERE || one.namespace === other.namespace) &&
    lesser(one.role, other.role) === other.role &&
    (!one.ownOnly || other.ownOnly)
  );
}

/** A permission that would be handed out and that the key of the caller was not given. */
function beyondScopes(caller: Caller, { grant, scopes }: Handout): Action | undefined {
  return ACTION_NAMES.find(
    (action) =>
      roleAllows(grant.role, action) && scopes?.has(action) !== false && caller.scopes?.has(action) === false,
  );
}

export function requireGrantable(caller: Caller, handout: Handout): void {
  if (mayHandOut(caller, handout)) return;
  const { namespace, role, ownOnly } = handout.grant;
  const where = namespace === EVERYWHERE ? 'everywhere' : `in the namespace ${namespace}`;
  const what = `${role}${ownOnly ? ' of their own jobs' : ''} ${where}`;
  const lacks = holds(caller, handout.grant)
    ? `the permission ${beyondScopes(caller, handout)}`
    : 'that role there, or a higher one';
  throw new Refusal('forbidden', `To hand out ${what}, ${caller.name} needs ${lacks}.`);
}

function narrower(a: string, b: string): string | undefined {
  if (a === EVERYWHERE) return b;
  return b === EVERYWHERE || a === b ? a : undefined;
}

function lesser(a: Role, b: Role): Role {
  return ROLES.indexOf(a) < ROLES.indexOf(b) ? a : b;
}
