/** The namespace that a part of the settings is about: the one of the address, or else that of jobs that name none. */
import { Select } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useFilters } from '../../ui/filters.tsx';
import { useNamespaces } from '../jobs/use-names.ts';

const DEFAULT = 'default';

export function useChosenNamespace(): string | undefined {
  const { ns: chosen } = useSearch({ strict: false });
  const namespaces = useNamespaces();
  return chosen ?? (namespaces.includes(DEFAULT) ? DEFAULT : namespaces[0]);
}

export function ChosenNamespace() {
  const namespaces = useNamespaces();
  const ns = useChosenNamespace();
  const { change } = useFilters<{ ns?: string }>();
  if (namespaces.length < 2) return null;
  return (
    <Select
      size="xs"
      w={220}
      label="Namespace"
      searchable
      allowDeselect={false}
      data={[...namespaces]}
      value={ns ?? null}
      onChange={(name) => name !== null && change({ ns: name })}
    />
  );
}
