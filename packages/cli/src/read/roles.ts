/** Roles and grants as people type them. */
import type { Grant, Role } from '@carillon/client';
import { UsageError } from '../program/usage-error.ts';

export const ROLES: readonly Role[] = ['viewer', 'operator', 'editor', 'admin'];

/** `editor`, `editor@billing`, `viewer@billing:own`; without a namespace it counts everywhere. */
export function readGrant(text: string): Grant {
  const [, role, namespace = '*', own] = /^(\w+)(?:@([^:]+))?(:own)?$/.exec(text) ?? [];
  if (isRole(role)) return { namespace, role, own_only: own !== undefined };
  throw new UsageError(
    `"${text}" is not a grant.`,
    `Such as viewer, editor@billing, or operator@billing:own for their own jobs. Roles: ${ROLES.join(', ')}.`,
  );
}

export function grantText({ role, namespace, own_only: ownOnly }: Grant): string {
  return `${role}${namespace === '*' ? '' : `@${namespace}`}${ownOnly ? ':own' : ''}`;
}

function isRole(word: string | undefined): word is Role {
  return ROLES.some((role) => role === word);
}
