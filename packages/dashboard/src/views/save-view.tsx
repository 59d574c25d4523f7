/** Asks for the name of a new view. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { notify } from '../ui/notify.ts';
import { Problem } from '../ui/problem.tsx';
import { namesake, useViews, type ViewQuery, type ViewScreen } from './use-views.ts';

export const VIEW_NAME_LENGTH_MAX = 80;

interface SaveViewProps {
  readonly screen: ViewScreen;
  readonly query: ViewQuery;
  readonly onClose: () => void;
}

export function SaveView({ screen, query, onClose }: SaveViewProps) {
  const { views, save } = useViews();
  const [name, setName] = useState('');
  const isTaken = namesake(views, { screen, name }) !== undefined;
  const task = useMutation({
    mutationFn: () => save(screen, name, query),
    onSuccess: () => {
      notify({ message: `${name.trim()} is saved.` });
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title="Save view" centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '' && !task.isPending) task.mutate();
        }}
      >
        <Stack gap="md">
          <Text size="sm">The filters and the order of this list, for you alone, in every browser.</Text>
          <Text size="xs" c="dimmed" className="wrap-anywhere mono">
            {Object.entries(query)
              .map(([filter, value]) => `${filter}: ${value}`)
              .join('\n')}
          </Text>
          <TextInput
            data-autofocus
            label="Name"
            required
            maxLength={VIEW_NAME_LENGTH_MAX}
            description={isTaken ? 'Replaces your view of that name.' : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          {task.error && <Problem error={task.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Back
            </Button>
            <Button type="submit" loading={task.isPending} disabled={name.trim() === ''}>
              {isTaken ? 'Replace' : 'Save'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
