/** What the server shows in one answer and never again, to be copied now. */
import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';

export function ShownOnce({ value, label, note }: { value: string; label: string; note: ReactNode }) {
  return (
    <Alert variant="default" title="Keep it now: it is shown this once">
      <Stack gap="xs">
        <Code block className="wrap-anywhere" data-testid="new-key">
          {value}
        </Code>
        <Group>
          <CopyButton text={value} label={label} />
        </Group>
        <Text size="xs">{note}</Text>
      </Stack>
    </Alert>
  );
}
