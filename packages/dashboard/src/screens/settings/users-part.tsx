/** People: who there is, what they may, and inviting somebody. */

import type { Grant, Role, User } from '@carillon/client';
import { Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useCaller, usePermission } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FieldPassword, FieldText } from '../../ui/form-errors.tsx';
import { Instant } from '../../ui/instant.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { FormDialog, type FormDialogProps } from './form-dialog.tsx';
import { GrantsInput, grantWords } from './grants-input.tsx';
import { NewPassword } from './new-password.tsx';
import { RemoveButton } from './remove-button.tsx';
import { FullNameForm } from './rename-forms.tsx';

const route = getRouteApi('/shell/settings/$part');

export function UsersPart() {
  const permission = usePermission('users.manage');
  const caller = useCaller();
  const { open } = route.useSearch();
  const navigate = useNavigate();
  const columns: readonly Column<User>[] = [
    {
      key: 'name',
      title: 'Name',
      width: 'minmax(100px, 1fr)',
      cell: ({ name, disabled }) => `${name}${disabled ? ' (disabled)' : ''}`,
    },
    {
      key: 'shown',
      title: 'Full name',
      width: 'minmax(80px, 1fr)',
      from: 'md',
      cell: ({ display_name: shown }) => shown || '–',
    },
    {
      key: 'may',
      title: 'Roles',
      width: 'minmax(120px, 2fr)',
      from: 'sm',
      below: true,
      cell: ({ grants }) => grantWords(grants) || 'none',
    },
    {
      key: 'since',
      title: 'Made',
      width: '120px',
      from: 'lg',
      cell: ({ created_at: at }) => <Instant at={at} />,
    },
    {
      key: 'actions',
      title: '',
      width: '344px',
      from: 'sm',
      below: true,
      cell: (user) =>
        permission.allowed && (
          <Group gap={4} wrap="nowrap">
            <GrantsForm user={user} />
            <FullNameForm user={user} />
            {user.user_id !== caller?.user_id && <PasswordForm user={user} />}
            <DisableForm user={user} />
            {user.user_id !== caller?.user_id && (
              <RemoveButton
                label="Remove"
                title={`Remove ${user.name}?`}
                effect="Their keys and sessions end. Their jobs stay."
                type={user.name}
                withPassword={caller?.user_id !== null}
                queryKey={queryKeys.users()}
                run={(password) => carillon.users.remove(user.user_id, { currentPassword: password })}
              />
            )}
          </Group>
        ),
    },
  ];
  return (
    <Card
      title="Users"
      actions={
        <InviteForm
          startsOpen={open === 'invite'}
          onClose={() =>
            open !== undefined &&
            void navigate({ to: '/settings/$part', params: { part: 'users' }, replace: true })
          }
        />
      }
    >
      <VirtualList
        label="Users"
        queryKey={queryKeys.users('list')}
        list={() => carillon.users.list({ limit: 100 })}
        columns={columns}
        idOf={({ user_id: id }) => id}
        empty={<Empty title="Nobody yet">Invite the first person with the button above.</Empty>}
      />
    </Card>
  );
}

/** The password of who is signed in: asked where a change outlasts their session. */
function OwnPassword({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const caller = useCaller();
  if (caller?.user_id === null) return null;
  return (
    <FieldPassword
      field="current_password"
      label="Your password"
      description="Asked again, because this outlasts your session."
      autoComplete="current-password"
      required
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

interface InviteFormProps extends Pick<FormDialogProps, 'startsOpen' | 'onClose'> {
  readonly label?: string;
  readonly firstRole?: Role;
  /** Left out: they are told that they can sign in. */
  readonly onMade?: (credentials: { name: string; password: string }) => Promise<string>;
}

export function InviteForm({ label = 'Invite', firstRole = 'viewer', onMade, ...dialog }: InviteFormProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [shown, setShown] = useState('');
  const [password, setPassword] = useState('');
  const [own, setOwn] = useState('');
  const [grants, setGrants] = useState<Grant[]>([
    { role: firstRole, namespace: firstRole === 'admin' ? '*' : 'default' },
  ]);
  return (
    <FormDialog
      {...dialog}
      label={label}
      title={label}
      submitLabel="Create the account"
      permission={usePermission('users.manage')}
      onSubmit={async () => {
        await carillon.users.create({
          ...{ name, display_name: shown, password, grants },
          ...(own !== '' && { current_password: own }),
        });
        await queries.invalidateQueries({ queryKey: queryKeys.users() });
        return onMade ? onMade({ name, password }) : `${name} can sign in now, with that password.`;
      }}
    >
      <FieldText
        field="name"
        label="User name"
        description="Used to sign in."
        required
        data-autofocus
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <FieldText
        field="display_name"
        label="Full name (optional)"
        value={shown}
        onChange={({ currentTarget }) => setShown(currentTarget.value)}
      />
      <NewPassword
        label={onMade ? 'Password' : 'First password'}
        note={onMade ? undefined : 'They can change it after signing in.'}
        value={password}
        onChange={setPassword}
      />
      <GrantsInput value={grants} onChange={setGrants} />
      <OwnPassword value={own} onChange={setOwn} />
    </FormDialog>
  );
}

function PasswordForm({ user }: { user: User }) {
  const [password, setPassword] = useState('');
  const [own, setOwn] = useState('');
  return (
    <FormDialog
      label="Password"
      size="compact-xs"
      title={`Set a password for ${user.name}`}
      submitLabel="Set the password"
      onSubmit={async () => {
        await carillon.users.setPassword(user.user_id, {
          password,
          ...(own !== '' && { current_password: own }),
        });
        return `${user.name} can sign in with the new password. Their sessions have ended.`;
      }}
    >
      <NewPassword
        label="New password"
        note="They can change it after signing in."
        value={password}
        onChange={setPassword}
      />
      <OwnPassword value={own} onChange={setOwn} />
    </FormDialog>
  );
}

function GrantsForm({ user }: { user: User }) {
  const queries = useQueryClient();
  const [grants, setGrants] = useState<Grant[]>([...user.grants]);
  const [own, setOwn] = useState('');
  return (
    <FormDialog
      label="Roles"
      size="compact-xs"
      title={`What ${user.name} may`}
      submitLabel="Save"
      onSubmit={async () => {
        await carillon.users.setGrants(user.user_id, grants, {
          currentPassword: own === '' ? undefined : own,
        });
        await queries.invalidateQueries({ queryKey: queryKeys.users() });
        return 'Saved. It counts within seconds.';
      }}
    >
      <GrantsInput value={grants} onChange={setGrants} />
      <OwnPassword value={own} onChange={setOwn} />
    </FormDialog>
  );
}

function DisableForm({ user }: { user: User }) {
  const queries = useQueryClient();
  const [own, setOwn] = useState('');
  const { disabled } = user;
  return (
    <FormDialog
      label={disabled ? 'Enable' : 'Disable'}
      size="compact-xs"
      title={disabled ? `Let ${user.name} in again?` : `Keep ${user.name} out?`}
      onSubmit={async () => {
        await carillon.users.update(user.user_id, {
          disabled: !disabled,
          ...(own !== '' && { current_password: own }),
        });
        await queries.invalidateQueries({ queryKey: queryKeys.users() });
        return disabled
          ? `${user.name} can sign in again.`
          : `${user.name} is kept out; their keys do not work.`;
      }}
    >
      {disabled && <OwnPassword value={own} onChange={setOwn} />}
    </FormDialog>
  );
}
