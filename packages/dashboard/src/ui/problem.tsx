/** What went wrong, what to do about it, and a way to try again. */
import { CarillonError } from '@carillon/client';
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { fixWords } from './refusal-words.ts';

export function Problem({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const known = error instanceof CarillonError ? error : undefined;
  const fix = known && fixWords(known);
  const forbidden = known?.status === 403;
  return (
    <Alert
      variant="default"
      color={forbidden ? 'gray' : 'red'}
      role="alert"
      title={forbidden ? 'Not allowed' : 'This did not work'}
    >
      <Stack gap={6}>
        <Text size="sm" className="wrap-anywhere">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        {fix !== undefined && <Text size="sm">{fix}</Text>}
        <Group gap="sm">
          {onRetry && (
            <Button size="compact-sm" variant="default" onClick={onRetry}>
              Try again
            </Button>
          )}
          {known?.requestId !== undefined && (
            <Text size="xs">
              Request <span className="mono">{known.requestId}</span>
            </Text>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
