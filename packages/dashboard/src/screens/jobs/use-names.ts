/** Names for what rows only have ids of, as far as the caller may read them. */
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { may, useCaller } from '../../api/session.ts';

const READ_MAX = 200;
const KEPT_MS = 60_000;

/** The namespaces that the caller sees; the same answer as that of the picker in the header. */
export function useNamespaces(): readonly string[] {
  const { data = [] } = useQuery({
    queryKey: ['namespaces'],
    queryFn: () => carillon.namespaces.list({ limit: READ_MAX }).toArray({ max: READ_MAX }),
    staleTime: KEPT_MS,
  });
  return data.map(({ name }) => name);
}

/** Who a user is; the id where names may not be read. */
export function useUserName(): (userId: string) => string {
  const caller = useCaller();
  const { data = [] } = useQuery({
    queryKey: ['users', 'names'],
    queryFn: () => carillon.users.list({ limit: READ_MAX }).toArray({ max: READ_MAX }),
    staleTime: KEPT_MS,
    enabled: may(caller, 'users.read'),
  });
  return (userId) => {
    if (userId === caller?.user_id) return caller.user_name ?? caller.name;
    return data.find(({ user_id: id }) => id === userId)?.name ?? userId;
  };
}
