/** A secret as it is encrypted: bound to its namespace, name and version, so that no row can stand in for another. */
import type { Secret } from '@carillon/domain';
import type { SecretSeal } from '../outgoing/secret-seal.ts';
import type { StoredSecret } from '../storage/secret-store.ts';

type Bound = Pick<Secret, 'namespace' | 'name' | 'version'>;

export function sealSecret(seal: SecretSeal, value: string, bound: Bound): string {
  return seal.seal(value, ownerOf(bound));
}

/** Throws in words that name the secret, and say which setting is missing or wrong. */
export function openSecret(seal: SecretSeal, stored: StoredSecret): string {
  try {
    return seal.open(stored.value, ownerOf(stored));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the secret ${stored.name} cannot be read: ${reason}`, { cause: error });
  }
}

/** None of the parts holds a slash. */
function ownerOf({ namespace, name, version }: Bound): string {
  return `secret/${namespace}/${name}/${version}`;
}
