/** Narrows every screen to one namespace, by `ns` in the address. */

import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { KEPT } from '../api/polling.ts';
import { queryKeys } from '../api/query-keys.ts';

const SHOWN_MAX = 200;

export function NamespacePicker() {
  const { ns } = useSearch({ strict: false });
  const navigate = useNavigate();
  const { data = [] } = useQuery({
    queryKey: queryKeys.namespaces(),
    queryFn: () => carillon.namespaces.list({ limit: SHOWN_MAX }).toArray({ max: SHOWN_MAX }),
    staleTime: KEPT.seldomMs,
  });
  if (data.length < 2) return null;
  return (
    <Select
      aria-label="Namespace"
      size="xs"
      w={{ base: 124, sm: 160 }}
      rightSectionWidth={24}
      clearable
      searchable
      placeholder="all namespaces"
      data={data.map(({ name }) => name)}
      value={ns ?? null}
      onChange={(name) =>
        void navigate({
          to: '.',
          search: (before: object) => ({ ...before, ns: name ?? undefined }),
        } as never)
      }
    />
  );
}
