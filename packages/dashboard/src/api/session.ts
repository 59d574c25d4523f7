/** Who is signed in, and what they may do where. */

import type { Whoami } from '@carillon/client';
import { ACTIONS, type Action, INSTALLATION_ACTIONS, type Role, roleAllows } from '@carillon/domain';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { carillon, isSignedOut, setCsrfToken } from './carillon.ts';
import { KEPT } from './polling.ts';
import { queryKeys } from './query-keys.ts';

export type { Action } from '@carillon/domain';

/** null: nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: queryKeys.session(),
  queryFn: async ({ signal }): Promise<Whoami | null> => {
    try {
      const caller = await carillon.session.whoami({ signal });
      setCsrfToken(caller.csrf_token ?? undefined);
      return caller;
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      setCsrfToken(undefined);
      return null;
    }
  },
  staleTime: KEPT.seldomMs,
});

export function useCaller(): Whoami | null {
  return useQuery(sessionQuery).data ?? null;
}

/** EVERYWHERE stands for what belongs to no namespace. */
const EVERYWHERE = '*';

export function may(
  caller: Whoami | null,
  action: Action,
  { namespace, userId }: { namespace?: string | undefined; userId?: string | null | undefined } = {},
): boolean {
  if (caller === null) return false;
  if (caller.scopes !== null && !caller.scopes.includes(action)) return false;
  return caller.grants.some((grant) => {
    if (!roleAllows(grant.role, action)) return false;
    if (INSTALLATION_ACTIONS.has(action)) return grant.namespace === EVERYWHERE;
    if (namespace !== undefined && grant.namespace !== EVERYWHERE && grant.namespace !== namespace)
      return false;
    return grant.own_only !== true || userId === undefined || userId === caller.user_id;
  });
}

/** The least role that may do it, to tell those who may not. */
export function roleFor(action: Action): Role {
  return ACTIONS[action];
}

export interface Permission {
  readonly allowed: boolean;
  /** For people who may not: which role is needed. Undefined: they may. */
  readonly why: string | undefined;
}

export function usePermission(
  action: Action,
  about: { namespace?: string | undefined; userId?: string | null | undefined } = {},
): Permission {
  const allowed = may(useCaller(), action, about);
  const where = INSTALLATION_ACTIONS.has(action)
    ? 'in all namespaces'
    : about.namespace === undefined
      ? ''
      : `in ${about.namespace}`;
  return { allowed, why: allowed ? undefined : `Needs the role ${roleFor(action)} ${where}`.trimEnd() };
}
