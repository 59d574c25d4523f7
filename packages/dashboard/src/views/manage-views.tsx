/** Renames and deletes the views of a list. */
import type { SavedView } from '@carillon/client';
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { notify } from '../ui/notify.ts';
import { Problem } from '../ui/problem.tsx';
import { VIEW_NAME_LENGTH_MAX } from './save-view.tsx';
import { useViews, type ViewScreen } from './use-views.ts';

export function ManageViews({ screen, onClose }: { screen: ViewScreen; onClose: () => void }) {
  const { views } = useViews();
  const mine = views.filter((view) => view.screen === screen);
  return (
    <Modal opened onClose={onClose} title={`Views of the ${screen}`} centered>
      <Stack gap="sm">
        {mine.length === 0 && <Text size="sm">You have no views of the {screen}.</Text>}
        {mine.map((view) => (
          <ViewRow key={view.view_id} view={view} />
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function ViewRow({ view }: { view: SavedView }) {
  const { rename, remove, restore } = useViews();
  const [name, setName] = useState(view.name);
  const renaming = useMutation({
    mutationFn: () => rename(view, name),
    onSuccess: () => notify({ message: `${view.name} is called ${name.trim()} now.` }),
  });
  const removing = useMutation({
    mutationFn: () => remove(view),
    onSuccess: () => notify({ message: `${view.name} was deleted.`, undo: () => restore(view) }),
  });
  const error = renaming.error ?? removing.error;
  const isChanged = name.trim() !== '' && name.trim() !== view.name;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !renaming.isPending) renaming.mutate();
      }}
    >
      <Group gap="xs" wrap="nowrap">
        <TextInput
          flex={1}
          size="xs"
          aria-label={`Name of ${view.name}`}
          maxLength={VIEW_NAME_LENGTH_MAX}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Button
          type="submit"
          size="compact-sm"
          variant="default"
          disabled={!isChanged}
          loading={renaming.isPending}
          aria-label={`Rename ${view.name}`}
        >
          Rename
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          loading={removing.isPending}
          aria-label={`Delete ${view.name}`}
          onClick={() => removing.mutate()}
        >
          Delete
        </Button>
      </Group>
      {error && <Problem error={error} />}
    </form>
  );
}
