/** Shows the messages of notify(). */
import { Button, CloseButton, Group, Paper, Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import classes from './notices.module.css';
import { dismiss, noticeStore, notify } from './notify.ts';
import { Problem } from './problem.tsx';

export function Notices() {
  const notices = useSyncExternalStore(noticeStore.subscribe, noticeStore.now);
  return (
    <Stack gap="xs" className={classes.notices} role="status" aria-live="polite">
      {notices.map(({ id, message, error, undo }) => (
        <Paper key={id} withBorder shadow="md" radius="md" p="sm">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            {error === undefined ? <Text size="sm">{message}</Text> : <Problem error={error} />}
            <Group gap={4} wrap="nowrap">
              {undo && (
                <Button
                  size="compact-sm"
                  variant="light"
                  onClick={() => {
                    dismiss(id);
                    undo().catch((problem: unknown) => notify({ error: problem }));
                  }}
                >
                  Undo
                </Button>
              )}
              <CloseButton aria-label="Dismiss" onClick={() => dismiss(id)} />
            </Group>
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
