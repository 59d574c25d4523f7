/** Nothing to show, and what to do next. */
import { Code, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';

export function Empty({
  title,
  children,
  command,
  order = 2,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
  /** 1: it stands in the place of a screen. */
  order?: 1 | 2;
}) {
  return (
    <Stack align="center" gap="sm" py="xl" px="md">
      <Title order={order} size="h5">
        {title}
      </Title>
      {children !== undefined && (
        <Text size="sm" c="dimmed" ta="center" maw={520} component="div">
          {children}
        </Text>
      )}
      {command !== undefined && (
        <Stack gap={4} align="center" maw="100%">
          <Code block className="wrap-anywhere">
            {command}
          </Code>
          <CopyButton text={command} label="Copy the command" />
        </Stack>
      )}
    </Stack>
  );
}
