/** A sentence of the server, in which names stand between backticks: they are set apart as code. */
import { Code } from '@mantine/core';

export function WithCode({ text }: { text: string }) {
  return text.split('`').map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is known by its place alone.
      <Code key={at}>{part}</Code>
    ) : (
      part
    ),
  );
}
