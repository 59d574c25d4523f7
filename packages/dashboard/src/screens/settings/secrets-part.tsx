/** Secrets that payloads name as {{secrets.name}}. A value can be set, and never be read again. */

import type { Secret } from '@carillon/client';
import { Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { COMMAND } from '../../ui/command-name.ts';
import { Empty } from '../../ui/empty.tsx';
import { FieldPassword, FieldText } from '../../ui/form-errors.tsx';
import { Instant } from '../../ui/instant.tsx';
import { SimpleTable } from '../../ui/simple-table.tsx';
import { ChosenNamespace, useChosenNamespace } from './chosen-namespace.tsx';
import { FormDialog } from './form-dialog.tsx';
import { RemoveButton } from './remove-button.tsx';

export function SecretsPart() {
  const ns = useChosenNamespace();
  const secrets = useQuery({
    queryKey: queryKeys.secrets(ns),
    queryFn: ({ signal }) => carillon.secrets.list(ns === undefined ? {} : { namespace: ns }, { signal }),
    enabled: ns !== undefined,
  });
  const permission = usePermission('secrets.manage', { namespace: ns });
  return (
    <Card title={ns === undefined ? 'Secrets' : `Secrets of ${ns}`} actions={<SetForm namespace={ns} />}>
      <ChosenNamespace />
      <Text size="sm" c="dimmed">
        A payload names one as <span className="mono">{'{{secrets.name}}'}</span>. Its value is put in on the
        way to the worker alone, and masked in logs and results.
      </Text>
      <Loaded of={secrets}>
        {(found) =>
          found.length === 0 ? (
            <Empty
              title={`No secrets in ${ns}`}
              command={`${COMMAND} secrets set api-token --namespace ${ns}`}
            />
          ) : (
            <SimpleTable<Secret>
              label="Secrets"
              rows={found}
              idOf={({ namespace, name }) => `${namespace} ${name}`}
              columns={[
                { key: 'name', title: 'Name', cell: ({ name }) => <span className="mono">{name}</span> },
                { key: 'version', title: 'Version', from: 'sm', cell: ({ version }) => version },
                {
                  key: 'masked',
                  title: 'Masked',
                  from: 'sm',
                  cell: ({ masked }) => (masked ? 'yes' : 'no: shorter than 8 characters'),
                },
                {
                  key: 'set',
                  title: 'Set',
                  from: 'sm',
                  cell: ({ updated_at: at, updated_by: by }) => (
                    <>
                      <Instant at={at} /> by {by}
                    </>
                  ),
                },
                {
                  key: 'actions',
                  title: '',
                  cell: (secret) =>
                    permission.allowed && (
                      <Group gap={4} wrap="nowrap">
                        <SetForm namespace={secret.namespace} name={secret.name} />
                        <RemoveButton
                          label="Delete"
                          title={`Delete ${secret.name}?`}
                          effect="Runs that name it fail from then on."
                          type={secret.name}
                          queryKey={queryKeys.secrets()}
                          run={() => carillon.secrets.remove(secret.name, { namespace: secret.namespace })}
                        />
                      </Group>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function SetForm({ namespace, name: given }: { namespace: string | undefined; name?: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState(given ?? '');
  const [value, setValue] = useState('');
  return (
    <FormDialog
      label={given === undefined ? 'New secret' : 'New value'}
      size={given === undefined ? 'compact-sm' : 'compact-xs'}
      title={given === undefined ? 'New secret' : `A new value for ${given}`}
      submitLabel="Set"
      permission={usePermission('secrets.manage', { namespace })}
      onClose={() => setValue('')}
      onSubmit={async () => {
        const { version } = await carillon.secrets.set(
          name,
          value,
          namespace === undefined ? {} : { namespace },
        );
        await queries.invalidateQueries({ queryKey: queryKeys.secrets() });
        return `${name} has version ${version}.`;
      }}
    >
      {given === undefined && (
        <FieldText
          field="name"
          label="Name"
          required
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
      )}
      <FieldPassword
        field="value"
        label="Value"
        description="It cannot be read again."
        required
        autoComplete="off"
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
    </FormDialog>
  );
}
