/** A JSON value, formatted, to read and to copy. Text stays text: nothing in it is taken for markup. */
import { Box, Group, Text } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';
import classes from './json-text.module.css';

const SHOWN_CHARS_MAX = 200_000;

export function JsonText({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const isCut = text.length > SHOWN_CHARS_MAX;
  return (
    <Box pos="relative">
      <Group justify="flex-end" mb={4}>
        <CopyButton text={text} />
      </Group>
      <pre className={classes.text} role="region" aria-label={label} tabIndex={0}>
        {isCut ? text.slice(0, SHOWN_CHARS_MAX) : text}
      </pre>
      {isCut && (
        <Text size="xs" c="dimmed">
          Only the beginning is shown. Copy it to read all of it.
        </Text>
      )}
    </Box>
  );
}
