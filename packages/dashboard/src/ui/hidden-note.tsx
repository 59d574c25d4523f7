/** Beside what is not shown whole: who sees the rest. */
import { Text } from '@mantine/core';
import { roleFor } from '../api/session.ts';

const HIDDEN = '[hidden]';

/** For the title of a short text. */
export function withHiddenNote(text: string): string {
  return text.includes(HIDDEN) ? `${text}\n${NOTE}` : text;
}

const NOTE = `${HIDDEN}: the role ${roleFor('payloads.read')} sees it.`;

export function HiddenNote({ text }: { text: string | null | undefined }) {
  if (text?.includes(HIDDEN) !== true) return null;
  return (
    <Text size="xs" c="dimmed">
      {NOTE}
    </Text>
  );
}
