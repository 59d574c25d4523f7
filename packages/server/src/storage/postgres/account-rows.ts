/** Rows of the account tables as the values they stand for. */
import type { Action, ApiKey, Grant, Namespace, Role, Session, User } from '@carillon/domain';

export type NamespaceRow = readonly [name: string, description: string, createdAtMs: number];

export function namespaceOf([name, description, createdAtMs]: NamespaceRow): Namespace {
  return { name, description, createdAtMs: Math.round(createdAtMs) };
}

export type UserRow = readonly [
  userId: string,
  name: string,
  displayName: string,
  disabled: boolean,
  hasPassword: boolean,
  grants: readonly (readonly [namespace: string, role: Role, ownOnly: boolean])[],
  createdAtMs: number,
  updatedAtMs: number,
];

export function userOf(row: UserRow): User {
  return {
    userId: row[0],
    name: row[1],
    displayName: row[2],
    disabled: row[3],
    hasPassword: row[4],
    grants: row[5].map(([namespace, role, ownOnly]) => ({ namespace, role, ownOnly })),
    createdAtMs: Math.round(row[6]),
    updatedAtMs: Math.round(row[7]),
  };
}

export type KeyRow = readonly [
  keyId: string,
  name: string,
  prefix: string,
  ownerId: string | null,
  namespace: string,
  role: Role,
  ownOnly: boolean,
  scopes: readonly Action[] | null,
  createdAtMs: number,
  expiresAtMs: number | null,
  lastUsedAtMs: number | null,
];
export const KEY_COLUMNS = 11;

export function keyOf(row: KeyRow): ApiKey {
  const grant: Grant = { namespace: row[4], role: row[5], ownOnly: row[6] };
  return {
    keyId: row[0],
    name: row[1],
    prefix: row[2],
    ownerId: row[3] ?? undefined,
    grant,
    scopes: row[7] === null ? undefined : new Set(row[7]),
    createdAtMs: Math.round(row[8]),
    expiresAtMs: rounded(row[9]),
    lastUsedAtMs: rounded(row[10]),
  };
}

export type SessionRow = readonly [
  sessionId: string,
  userId: string,
  createdAtMs: number,
  lastSeenAtMs: number,
  expiresAtMs: number,
  address: string | null,
  userAgent: string | null,
];
export const SESSION_COLUMNS = 7;

export function sessionOf(row: SessionRow): Session {
  return {
    sessionId: row[0],
    userId: row[1],
    createdAtMs: Math.round(row[2]),
    lastSeenAtMs: Math.round(row[3]),
    expiresAtMs: Math.round(row[4]),
    address: row[5] ?? undefined,
    userAgent: row[6] ?? undefined,
  };
}

function rounded(ms: number | null): number | undefined {
  return ms === null ? undefined : Math.round(ms);
}
