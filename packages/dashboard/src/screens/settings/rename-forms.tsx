/** Other names: of a key, and the full name of a user. Neither changes what they may. */
import type { ApiKey, User } from '@carillon/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { FieldText } from '../../ui/form-errors.tsx';
import { FormDialog } from './form-dialog.tsx';

export function RenameKeyForm({ apiKey }: { apiKey: ApiKey }) {
  const queries = useQueryClient();
  const [name, setName] = useState(apiKey.name);
  return (
    <FormDialog
      label="Rename"
      size="compact-xs"
      title={`Another name for ${apiKey.name}`}
      onSubmit={async () => {
        await carillon.keys.update(apiKey.key_id, { name });
        await queries.invalidateQueries({ queryKey: queryKeys.apiKeys() });
        return `The key is called ${name} now.`;
      }}
    >
      <FieldText
        field="name"
        label="Name"
        description="What it is for. Programs that use it notice nothing."
        required
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </FormDialog>
  );
}

export function FullNameForm({ user }: { user: User }) {
  const queries = useQueryClient();
  const [shown, setShown] = useState(user.display_name ?? '');
  return (
    <FormDialog
      label="Full name"
      size="compact-xs"
      title={`The full name of ${user.name}`}
      submitLabel="Save"
      onSubmit={async () => {
        await carillon.users.update(user.user_id, { display_name: shown });
        await queries.invalidateQueries({ queryKey: queryKeys.users() });
        return 'Saved.';
      }}
    >
      <FieldText
        field="display_name"
        label="Full name"
        description={`${user.name} stays the name to sign in with.`}
        value={shown}
        onChange={({ currentTarget }) => setShown(currentTarget.value)}
      />
    </FormDialog>
  );
}
