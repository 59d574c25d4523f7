/** What somebody may, and where: a role in a namespace, or in all of them; for all jobs there, or their own alone. */

import type { Grant, Role } from '@carillon/client';
import { ActionIcon, Button, Checkbox, Group, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';

/** Each may what the one before it may. */
const MAY: Record<Role, string> = {
  viewer: 'looks, without logs, errors, payloads and results',
  observer: 'sees logs, errors, payloads and results, too',
  operator: 'runs, pauses and cancels, too',
  editor: 'makes and changes jobs, too',
  admin: 'everything',
};

export function grantWords(grants: readonly Grant[]): string {
  return grants
    .map(({ role, namespace, own_only: own }) => `${role}@${namespace}${own ? ':own' : ''}`)
    .join(', ');
}

export function GrantsInput({
  value,
  onChange,
}: {
  value: readonly Grant[];
  onChange: (grants: Grant[]) => void;
}) {
  const { data = [] } = useQuery({
    queryKey: queryKeys.namespaces(),
    queryFn: () => carillon.namespaces.list({ limit: 200 }).toArray({ max: 200 }),
  });
  const change = (index: number, part: Partial<Grant>) =>
    onChange(value.map((grant, at) => (at === index ? { ...grant, ...part } : grant)));
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Roles
      </Text>
      {value.map((grant, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
        <Stack key={index} gap={2}>
          <Group gap="xs" wrap="nowrap">
            <Select
              aria-label="Role"
              size="xs"
              data={Object.keys(MAY)}
              renderOption={({ option: { value: role } }) => (
                <Stack gap={0}>
                  <Text size="sm">{role}</Text>
                  <Text size="xs" c="dimmed">
                    {MAY[role as Role]}
                  </Text>
                </Stack>
              )}
              comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
              value={grant.role}
              allowDeselect={false}
              onChange={(role) => role !== null && change(index, { role: role as Role })}
            />
            <Select
              aria-label="Namespace of the role"
              size="xs"
              data={[
                { value: '*', label: 'all namespaces' },
                ...data.map(({ name }) => ({ value: name, label: name })),
              ]}
              value={grant.namespace}
              allowDeselect={false}
              onChange={(namespace) => namespace !== null && change(index, { namespace })}
            />
            <Checkbox
              size="xs"
              label="own jobs only"
              checked={grant.own_only ?? false}
              onChange={({ currentTarget }) => change(index, { own_only: currentTarget.checked })}
            />
            <ActionIcon
              variant="subtle"
              aria-label="Remove this role"
              onClick={() => onChange(value.filter((_, at) => at !== index))}
            >
              ×
            </ActionIcon>
          </Group>
          <Text size="xs" c="dimmed">
            {`${grant.role}: ${MAY[grant.role]}`}
          </Text>
        </Stack>
      ))}
      <Button
        size="compact-xs"
        variant="subtle"
        w="fit-content"
        onClick={() => onChange([...value, { role: 'viewer', namespace: data[0]?.name ?? 'default' }])}
      >
        Add a role
      </Button>
    </Stack>
  );
}
