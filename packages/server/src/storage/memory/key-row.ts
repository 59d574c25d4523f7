/** A key in memory: whether a filter finds it, what a use changes of it, and the order of grants. */
import type { ApiKey, Grant } from '@carillon/domain';
import type { KeyFilter, KeyUse, SecretHash } from '../account-store.ts';

export interface KeyRow {
  key: ApiKey;
  hash: SecretHash;
  previousHash: SecretHash | undefined;
  readonly firstPrefix: string;
}

export function isWanted(
  key: ApiKey,
  { ownerId, namespace, name, expired, unusedSinceMs }: KeyFilter,
): boolean {
  const isExpired = (atMs: number) => key.expiresAtMs !== undefined && key.expiresAtMs <= atMs;
  return (
    (ownerId === undefined || key.ownerId === ownerId) &&
    (namespace === undefined || key.grants.some((grant) => grant.namespace === namespace)) &&
    (name === undefined || key.name === name) &&
    (expired === undefined || isExpired(expired.atMs) === expired.is) &&
    (unusedSinceMs === undefined || (key.lastUsedAtMs ?? key.createdAtMs) < unusedSinceMs)
  );
}

export function usedKey(key: ApiKey, { atMs, address, previousAtMs }: KeyUse): ApiKey {
  const { lastUsedAtMs = 0, previous } = key;
  return {
    ...key,
    lastUsedAtMs: Math.max(lastUsedAtMs, atMs),
    lastUsedAddress: atMs >= lastUsedAtMs ? (address ?? key.lastUsedAddress) : key.lastUsedAddress,
    previous:
      previous && previousAtMs !== undefined
        ? { ...previous, lastUsedAtMs: Math.max(previous.lastUsedAtMs ?? 0, previousAtMs) }
        : previous,
  };
}

export function inOrder(grants: readonly Grant[]): readonly Grant[] {
  const key = (grant: Grant) => `${grant.namespace} ${grant.ownOnly}`;
  return [...grants].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
