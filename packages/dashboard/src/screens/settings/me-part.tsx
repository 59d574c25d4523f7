/** One's own account: rights, password, and where one is signed in. */

import type { UserSession } from '@carillon/client';
import { Checkbox, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useCaller } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FieldPassword } from '../../ui/form-errors.tsx';
import { Instant } from '../../ui/instant.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { FormDialog } from './form-dialog.tsx';
import { grantWords } from './grants-input.tsx';
import { NewPassword } from './new-password.tsx';
import { RemoveButton } from './remove-button.tsx';

const COLUMNS: readonly Column<UserSession>[] = [
  {
    key: 'seen',
    title: 'Last seen',
    width: 'minmax(72px, 120px)',
    cell: ({ last_seen_at: at }) => <Instant at={at} />,
  },
  { key: 'address', title: 'From', width: 'minmax(90px, 130px)', cell: ({ address }) => address ?? '–' },
  {
    key: 'agent',
    title: 'Browser',
    width: 'minmax(100px, 3fr)',
    from: 'sm',
    below: true,
    cell: ({ user_agent: agent }) => agent ?? '–',
  },
  {
    key: 'ends',
    title: 'Ends',
    width: '130px',
    from: 'md',
    cell: ({ expires_at: at }) => <Instant at={at} />,
  },
  {
    key: 'end',
    title: '',
    width: '72px',
    cell: (session) =>
      session.current ? (
        <span className="muted">this one</span>
      ) : (
        <RemoveButton
          label="End"
          title="End this session?"
          effect="Whoever uses it has to sign in again."
          queryKey={queryKeys.sessions()}
          run={() => carillon.sessions.end(session.session_id)}
        />
      ),
  },
];

export function MePart() {
  const caller = useCaller();
  if (caller === null) return null;
  return (
    <Stack>
      <Card
        title={caller.user_name ?? caller.name}
        actions={caller.user_id !== null && <PasswordForm userId={caller.user_id} />}
      >
        <Text size="sm">Roles: {grantWords(caller.grants)}</Text>
        <Text size="sm" component="div">
          This session ends <Instant at={caller.expires_at} />.
        </Text>
      </Card>
      {caller.user_id !== null && (
        <Card title="Where you are signed in">
          <VirtualList
            label="Sessions"
            queryKey={queryKeys.sessions('mine')}
            list={() => carillon.sessions.list({ limit: 50 })}
            columns={COLUMNS}
            idOf={({ session_id: id }) => id}
            empty={<Empty title="No other session" />}
          />
        </Card>
      )}
    </Stack>
  );
}

function PasswordForm({ userId }: { userId: string }) {
  const queries = useQueryClient();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const [endKeys, setEndKeys] = useState(false);
  return (
    <FormDialog
      label="Change password"
      title="Change your password"
      onSubmit={async () => {
        await carillon.users.setPassword(userId, { password, current_password: current, end_keys: endKeys });
        queries.setQueryData(queryKeys.session(), null);
        return 'The password is changed. Sign in with the new one.';
      }}
    >
      <FieldPassword
        field="current_password"
        label="Password now"
        autoComplete="current-password"
        required
        data-autofocus
        value={current}
        onChange={({ currentTarget }) => setCurrent(currentTarget.value)}
      />
      <NewPassword label="New password" value={password} onChange={setPassword} />
      <Checkbox
        label="Also end the keys that I made"
        checked={endKeys}
        onChange={({ currentTarget }) => setEndKeys(currentTarget.checked)}
      />
      <Text size="xs" c="dimmed">
        All your sessions end, this one too.
      </Text>
    </FormDialog>
  );
}
