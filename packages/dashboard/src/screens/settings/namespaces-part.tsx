/** Namespaces: where jobs live, and what roles are granted in; and the keys that sign their requests. */

import type { Namespace } from '@carillon/client';
import { Group, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FieldText } from '../../ui/form-errors.tsx';
import { Instant } from '../../ui/instant.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { FormDialog } from './form-dialog.tsx';
import { RemoveButton } from './remove-button.tsx';
import { SigningKeys } from './signing-keys.tsx';

export function NamespacesPart() {
  const permission = usePermission('namespaces.manage');
  const columns: readonly Column<Namespace>[] = [
    {
      key: 'name',
      title: 'Name',
      width: 'minmax(120px, 1fr)',
      cell: ({ name }) => (
        <Link to="/jobs" search={{ ns: name }}>
          {name}
        </Link>
      ),
    },
    {
      key: 'about',
      title: 'Description',
      width: 'minmax(120px, 3fr)',
      from: 'sm',
      below: true,
      cell: ({ description }) => description || '–',
    },
    {
      key: 'since',
      title: 'Made',
      width: '130px',
      from: 'sm',
      cell: ({ created_at: at }) => <Instant at={at} />,
    },
    {
      key: 'actions',
      title: '',
      width: '126px',
      cell: (namespace) =>
        permission.allowed && (
          <Group gap={4} wrap="nowrap">
            <DescribeForm namespace={namespace} />
            {namespace.name !== 'default' && (
              <RemoveButton
                label="Remove"
                title={`Remove ${namespace.name}?`}
                effect="Only an empty namespace can be removed. Its history is no longer readable, also when the name is used again."
                type={namespace.name}
                queryKey={queryKeys.namespaces()}
                run={() => carillon.namespaces.remove(namespace.name)}
              />
            )}
          </Group>
        ),
    },
  ];
  return (
    <Stack gap="md">
      <Card title="Namespaces" actions={<NewForm />}>
        <VirtualList
          label="Namespaces"
          queryKey={queryKeys.namespaces('list')}
          list={() => carillon.namespaces.list({ limit: 100 })}
          columns={columns}
          idOf={({ name }) => name}
          empty={<Empty title="No namespace" />}
        />
      </Card>
      <SigningKeys />
    </Stack>
  );
}

function NewForm() {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  return (
    <FormDialog
      label="New namespace"
      title="New namespace"
      submitLabel="Create"
      permission={usePermission('namespaces.manage')}
      onSubmit={async () => {
        await carillon.namespaces.create({ name, description });
        await queries.invalidateQueries({ queryKey: queryKeys.namespaces() });
        return `${name} is there.`;
      }}
    >
      <FieldText
        field="name"
        label="Name"
        required
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <FieldText
        field="description"
        label="Description"
        value={description}
        onChange={({ currentTarget }) => setDescription(currentTarget.value)}
      />
    </FormDialog>
  );
}

function DescribeForm({ namespace }: { namespace: Namespace }) {
  const queries = useQueryClient();
  const [description, setDescription] = useState(namespace.description);
  return (
    <FormDialog
      label="Edit"
      size="compact-xs"
      title={`Describe ${namespace.name}`}
      submitLabel="Save"
      onSubmit={async () => {
        await carillon.namespaces.update(namespace.name, { description });
        await queries.invalidateQueries({ queryKey: queryKeys.namespaces() });
        return 'Saved.';
      }}
    >
      <FieldText
        field="description"
        label="Description"
        value={description}
        onChange={({ currentTarget }) => setDescription(currentTarget.value)}
      />
    </FormDialog>
  );
}
