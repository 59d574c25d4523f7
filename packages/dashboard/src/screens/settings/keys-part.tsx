/** Keys for programs and workers. A key is shown once, when it is made or gets a new secret. */

import type { ApiKey, CreatedKey, Grant, NewKey } from '@carillon/client';
import { Group, SegmentedControl, Select, TagsInput, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useCaller, usePermission } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FieldPassword, FieldText } from '../../ui/form-errors.tsx';
import { Instant } from '../../ui/instant.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { FormDialog } from './form-dialog.tsx';
import { GrantsInput, grantWords } from './grants-input.tsx';
import { RemoveButton } from './remove-button.tsx';
import { RenameKeyForm } from './rename-forms.tsx';
import { ShownOnce } from './shown-once.tsx';

const COLUMNS: readonly Column<ApiKey>[] = [
  { key: 'name', title: 'Name', width: 'minmax(100px, 1fr)', cell: ({ name }) => name },
  {
    key: 'prefix',
    title: 'Begins with',
    width: '130px',
    from: 'lg',
    cell: ({ prefix }) => <span className="mono">{prefix}</span>,
  },
  {
    key: 'owner',
    title: 'Of',
    width: '110px',
    from: 'sm',
    below: (key) => (
      <>
        of {ownerOf(key)} · expires {endOf(key)}
      </>
    ),
    cell: ownerOf,
  },
  {
    key: 'may',
    title: 'May',
    width: 'minmax(120px, 2fr)',
    from: 'sm',
    below: true,
    cell: rightsOf,
  },
  {
    key: 'used',
    title: 'Last used',
    width: '120px',
    from: 'sm',
    cell: ({ last_used_at: at }) => <Instant at={at} />,
  },
  {
    key: 'ends',
    title: 'Expires',
    width: '120px',
    from: 'sm',
    cell: endOf,
  },
  {
    key: 'actions',
    title: '',
    width: '200px',
    from: 'sm',
    below: true,
    cell: (key) => (
      <Group gap={4} wrap="nowrap">
        <RenameKeyForm apiKey={key} />
        <RotateForm apiKey={key} />
        <RemoveButton
          label="Revoke"
          title={`Revoke ${key.name}?`}
          effect="Programs that use it are refused within seconds. This cannot be undone."
          queryKey={queryKeys.apiKeys()}
          run={() => carillon.keys.revoke(key.key_id)}
        />
      </Group>
    ),
  },
];

function ownerOf({ user_name: owner }: ApiKey): string {
  return owner ?? 'nobody';
}

function endOf({ expires_at: at }: ApiKey): ReactNode {
  return at === null ? 'never' : <Instant at={at} />;
}

function rightsOf({ worker, grants }: ApiKey): string {
  if (worker !== null) return `worker for ${worker.handlers.join(', ')} in ${worker.namespaces.join(', ')}`;
  return grantWords(grants);
}

export function KeysPart() {
  return (
    <Card title="Keys" actions={<NewKeyForm />}>
      <VirtualList
        label="Keys"
        queryKey={queryKeys.apiKeys('list')}
        list={() => carillon.keys.list({ limit: 100 })}
        columns={COLUMNS}
        idOf={({ key_id: id }) => id}
        empty={<Empty title="No keys">Make one for a program, or for a worker on another machine.</Empty>}
      />
    </Card>
  );
}

const LASTS = [
  { value: 'session', label: 'as long as this session' },
  { value: '30', label: '30 days (needs your password)' },
  { value: '365', label: 'one year (needs your password)' },
  { value: 'never', label: 'does not expire (needs your password)' },
];

function NewKeyForm() {
  const queries = useQueryClient();
  const caller = useCaller();
  const mayWorkers = usePermission('workers.connect');
  const [kind, setKind] = useState<'program' | 'worker'>('program');
  const [name, setName] = useState('');
  const [lasts, setLasts] = useState('session');
  const [grants, setGrants] = useState<Grant[]>([{ role: 'viewer', namespace: 'default' }]);
  const [handlers, setHandlers] = useState<string[]>(['http', 'script']);
  const [password, setPassword] = useState('');
  const [made, setMade] = useState<CreatedKey>();
  const submit = async (): Promise<undefined> => {
    const key: NewKey = {
      name,
      ...(lasts !== 'never' && {
        expires_at:
          lasts === 'session'
            ? caller?.expires_at
            : new Date(Date.now() + Number(lasts) * 86_400_000).toISOString(),
      }),
      ...(kind === 'worker' ? { worker: { handlers } } : { grants }),
      ...(password !== '' && { current_password: password }),
    };
    setMade(await carillon.keys.create(key));
    await queries.invalidateQueries({ queryKey: queryKeys.apiKeys() });
  };
  return (
    <FormDialog
      label="New key"
      title="New key"
      submitLabel="Make the key"
      done={made !== undefined}
      onSubmit={submit}
      onClose={() => {
        setMade(undefined);
        setPassword('');
      }}
    >
      {made ? (
        <ShownOnce value={made.key} label="Copy the key" note="The server keeps only a hash of it." />
      ) : (
        <>
          {mayWorkers.allowed && (
            <SegmentedControl
              aria-label="Kind"
              data={[
                { value: 'program', label: 'For a program' },
                { value: 'worker', label: 'For a worker' },
              ]}
              value={kind}
              onChange={(value) => setKind(value as 'program' | 'worker')}
            />
          )}
          <FieldText
            field="name"
            label="Name"
            description="What it is for, so that people know it again."
            required
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          {kind === 'worker' ? (
            <TagsInput label="Handlers that the worker may offer" value={handlers} onChange={setHandlers} />
          ) : (
            <GrantsInput value={grants} onChange={setGrants} />
          )}
          <Select
            label="Lasts"
            data={LASTS}
            value={lasts}
            allowDeselect={false}
            onChange={(value) => setLasts(value ?? 'session')}
          />
          {caller?.user_id !== null && (
            <FieldPassword
              field="current_password"
              label="Your password"
              description="Needed for a key that outlasts this session, and for one that is not your own."
              autoComplete="current-password"
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}

function RotateForm({ apiKey }: { apiKey: ApiKey }) {
  const queries = useQueryClient();
  const caller = useCaller();
  const [overlap, setOverlap] = useState('24h');
  const [password, setPassword] = useState('');
  const [made, setMade] = useState<CreatedKey>();
  const submit = async (): Promise<undefined> => {
    setMade(
      await carillon.keys.rotate(apiKey.key_id, {
        overlap,
        ...(password !== '' && { current_password: password }),
      }),
    );
    await queries.invalidateQueries({ queryKey: queryKeys.apiKeys() });
  };
  return (
    <FormDialog
      label="Rotate"
      size="compact-xs"
      title={`A new secret for ${apiKey.name}`}
      submitLabel="Rotate"
      done={made !== undefined}
      onSubmit={submit}
      onClose={() => setMade(undefined)}
    >
      {made ? (
        <ShownOnce value={made.key} label="Copy the key" note="The server keeps only a hash of it." />
      ) : (
        <>
          <TextInput
            label="The secret before works on for"
            description="Such as 24h; 0 ends it at once."
            value={overlap}
            onChange={({ currentTarget }) => setOverlap(currentTarget.value)}
          />
          {caller?.user_id !== null && (
            <FieldPassword
              field="current_password"
              label="Your password"
              autoComplete="current-password"
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
