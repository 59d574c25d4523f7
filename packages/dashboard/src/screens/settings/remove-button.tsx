/** Ends or removes one thing, after a question. */
import { Button, PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ConfirmDialog } from '../../ui/action-button.tsx';
import { releaseLists } from '../../ui/held-items.ts';
import { notify } from '../../ui/notify.ts';

interface RemoveButtonProps {
  readonly label: string;
  readonly title: string;
  readonly effect: ReactNode;
  readonly type?: string;
  readonly queryKey: readonly unknown[];
  /** Asks for the password of who is signed in. */
  readonly withPassword?: boolean;
  readonly run: (password: string | undefined) => Promise<unknown>;
}

export function RemoveButton({
  label,
  title,
  effect,
  type,
  queryKey,
  withPassword = false,
  run,
}: RemoveButtonProps) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [password, setPassword] = useState('');
  const task = useMutation({
    mutationFn: () => run(password === '' ? undefined : password),
    onSuccess: async () => {
      setAsking(false);
      setPassword('');
      await queries.invalidateQueries({ queryKey: [...queryKey] });
      releaseLists();
      notify({ message: 'Done.' });
    },
  });
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setAsking(true)}>
        {label}
      </Button>
      <ConfirmDialog
        title={title}
        effect={
          <>
            {effect}
            {withPassword && (
              <PasswordInput
                mt="sm"
                label="Your password"
                autoComplete="current-password"
                value={password}
                onChange={({ currentTarget }) => setPassword(currentTarget.value)}
              />
            )}
          </>
        }
        type={type}
        opened={asking}
        busy={task.isPending}
        error={task.error}
        label={label}
        onClose={() => {
          setAsking(false);
          task.reset();
        }}
        onConfirm={() => task.mutate()}
      />
    </>
  );
}
