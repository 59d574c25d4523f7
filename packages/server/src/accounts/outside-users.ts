/**
 * People whom a provider vouches for. They are known by issuer and subject: whatever they are called, nobody takes over the user of
 * another. What they may follows from their groups, each time they sign in; they have no password here.
 */
import { type Caller, EVERYWHERE, type Grant, Refusal, type User, type UserIdentity } from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import { LastAdministrator } from '../storage/account-store.ts';
import type { AccountParts } from './accounts.ts';
import { grantDetails } from './audit-details.ts';
import { userIdentity } from './identities.ts';
import { userSubject } from './users.ts';

export interface OutsidePerson {
  readonly identity: UserIdentity;
  /** Taken if it is free. */
  readonly name: string;
  readonly displayName: string;
  readonly grants: readonly Grant[];
}

const NAMES_TRIED_MAX = 100;

/** The user of this person as they are from now on. Refuses who may nothing, and who is disabled. */
export async function outsideUser(
  parts: AccountParts,
  origin: Caller['origin'],
  person: OutsidePerson,
): Promise<User> {
  const { store } = parts;
  const grants = await existing(parts, person.grants);
  const known = await store.userWithIdentity(person.identity);
  if (known?.disabled) throw new Refusal('sign_in_refused', 'The user is disabled.');
  const user = known
    ? await withGrants(parts, { user: known, grants, origin })
    : grants.length > 0
      ? await newUser(parts, { person, grants, origin })
      : undefined;
  if (!user || grants.length === 0) {
    const message = 'None of your groups may use this Carillon: ask an administrator.';
    throw new Refusal('forbidden', message);
  }
  return user;
}

/** A namespace that the settings name and nobody has made yet gives nothing. */
async function existing({ namespaces }: AccountParts, grants: readonly Grant[]): Promise<Grant[]> {
  const names = grants.map(({ namespace }) => namespace).filter((name) => name !== EVERYWHERE);
  const missing = new Set(await namespaces.missing(names));
  return grants.filter(({ namespace }) => !missing.has(namespace));
}

async function withGrants(
  { store, namespaces, identities, clock }: AccountParts,
  { user, grants, origin }: { user: User; grants: readonly Grant[]; origin: Caller['origin'] },
): Promise<User | undefined> {
  if (sameGrants(user.grants, grants)) return user;
  const nowMs = clock.now();
  const change = {
    ...{ action: 'users.grants', ...userSubject(user) },
    before: { grants: grantDetails(user.grants) },
    after: { grants: grantDetails(grants) },
  };
  const audit = auditEntry({ ...userIdentity(user), origin }, change, nowMs);
  try {
    const write = () => store.changeUser(user.userId, { grants }, nowMs, audit);
    return await namespaces.whileGranting(grants, 'grants', write);
  } catch (error) {
    if (!(error instanceof LastAdministrator)) throw error;
    const message = `${user.name} is the last administrator of the installation and stays one: make another one first.`;
    throw new Refusal('last_administrator', message, { cause: error });
  } finally {
    identities.forget();
  }
}

async function newUser(
  { store, namespaces, clock, random }: AccountParts,
  { person, grants, origin }: { person: OutsidePerson; grants: readonly Grant[]; origin: Caller['origin'] },
): Promise<User> {
  const nowMs = clock.now();
  for (let tries = 1; tries <= NAMES_TRIED_MAX; tries += 1) {
    const user = {
      ...{ userId: random.id(), name: tries === 1 ? person.name : `${person.name}-${tries}` },
      ...{ displayName: person.displayName, identity: person.identity, disabled: false, grants },
      ...{ createdAtMs: nowMs, updatedAtMs: nowMs, hasPassword: false },
    };
    const { hasPassword, ...stored } = user;
    const change = {
      ...{ action: 'users.create', ...userSubject(user) },
      after: {
        ...{ name: user.name, display_name: user.displayName, grants: grantDetails(grants) },
        ...{ has_password: hasPassword, issuer: person.identity.issuer },
      },
    };
    const audit = auditEntry({ ...userIdentity(user), origin }, change, nowMs);
    const create = () => store.createUser({ ...stored, passwordHash: undefined }, audit);
    if (await namespaces.whileGranting(grants, 'grants', create)) return user;
    // The name is taken; or the same person signs in twice at the same instant.
    const made = await store.userWithIdentity(person.identity);
    if (made) return made;
  }
  throw new Refusal('user_exists', `There are too many users called ${person.name}.`, { field: 'name' });
}

function sameGrants(a: readonly Grant[], b: readonly Grant[]): boolean {
  const texts = (grants: readonly Grant[]) =>
    grants
      .map(({ namespace, role, ownOnly }) => `${namespace} ${role} ${ownOnly}`)
      .sort()
      .join('\n');
  return texts(a) === texts(b);
}
