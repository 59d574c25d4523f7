/** Who somebody is, by the claims of their provider. */
import { type Grant, hasControlCharacter } from '@carillon/domain';

export interface OidcPerson {
  readonly identity: { readonly issuer: string; readonly subject: string };
  /** What they would be called; somebody else may be called so already. */
  readonly name: string;
  readonly displayName: string;
  readonly groups: readonly string[];
  readonly grants: readonly Grant[];
}

type Claims = Readonly<Record<string, unknown>>;

const NAME_LENGTH_MAX = 80;
const GROUPS_MAX = 1_000;

export function personOf(
  claims: Claims,
  { groupsClaim }: { groupsClaim: string },
): Omit<OidcPerson, 'grants'> {
  const { iss, sub, name } = claims;
  return {
    identity: { issuer: String(iss), subject: String(sub) },
    name: nameOf(claims),
    displayName: typeof name === 'string' ? oneLine(name) : '',
    groups: groupsOf(claimAt(claims, groupsClaim)),
  };
}

/** By its name, or where the name leads through objects, such as realm_access.roles. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path
    .split('.')
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
          ? (inner as Claims)[name]
          : undefined,
      claims,
    );
}

function groupsOf(claim: unknown): string[] {
  const given = typeof claim === 'string' ? [claim] : Array.isArray(claim) ? claim : [];
  return given.filter((group) => typeof group === 'string').slice(0, GROUPS_MAX);
}

/** In the characters that names of users have. */
function nameOf({ preferred_username: username, email, sub }: Claims): string {
  for (const given of [username, email, sub]) {
    if (typeof given !== 'string') continue;
    const plain = given
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/[^a-z0-9._@+-]+/g, '-');
    const name = plain.slice(0, NAME_LENGTH_MAX).replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
    if (name !== '') return name;
  }
  return 'user';
}

function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\p{Cf}/gu, (format) => (hasControlCharacter(format) ? ' ' : format))
    .trim()
    .slice(0, 200);
}
