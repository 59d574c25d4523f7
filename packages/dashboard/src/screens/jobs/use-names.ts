/** Names for what rows only have ids of, as far as the caller may read them. */

import type { Handler } from '@carillon/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { carillon } from '../../api/carillon.ts';
import { KEPT } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';

const READ_MAX = 200;
const USERS_MAX = 1_000;

/** The namespaces that the caller sees; the same answer as that of the picker in the header. */
export function useNamespaces(): readonly string[] {
  const { data = [] } = useQuery({
    queryKey: queryKeys.namespaces(),
    queryFn: () => carillon.namespaces.list({ limit: READ_MAX }).toArray({ max: READ_MAX }),
    staleTime: KEPT.seldomMs,
  });
  return data.map(({ name }) => name);
}

/** The handlers that are known. */
export function useHandlers(): readonly Handler[] | undefined {
  return useQuery({
    queryKey: queryKeys.handlerNames(),
    queryFn: () => carillon.handlers.list({ limit: READ_MAX }).toArray({ max: READ_MAX }),
    staleTime: KEPT.seldomMs,
  }).data;
}

export interface UserName {
  readonly id: string;
  readonly name: string;
}

/** The users that the caller may see, by name: themselves at least. */
export function useUserNames(): readonly UserName[] {
  const caller = useCaller();
  const { data = [] } = useQuery({
    queryKey: queryKeys.users('names'),
    queryFn: () => carillon.users.list({ limit: USERS_MAX }).toArray({ max: USERS_MAX }),
    staleTime: KEPT.seldomMs,
    enabled: may(caller, 'users.read'),
  });
  return useMemo(() => {
    const names = new Map(data.map(({ user_id: id, name }) => [id, name]));
    if (caller !== null && caller.user_id !== null)
      names.set(caller.user_id, caller.user_name ?? caller.name);
    return [...names].map(([id, name]) => ({ id, name }));
  }, [data, caller]);
}
