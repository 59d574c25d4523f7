/** A part of a page with a title: shows its answer, a skeleton while the first one is read, or its own problem. */
import { CarillonError } from '@carillon/client';
import { Box, Group, Paper, Skeleton, Stack, Title, VisuallyHidden } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Problem } from './problem.tsx';

interface Answer<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

export function Card({
  title,
  actions,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Paper withBorder radius="md" p="md" component="section">
      <Stack gap="sm">
        {(title !== undefined || actions !== undefined) && (
          <Group justify="space-between">
            <Title order={2} size="h5" className="wrap-anywhere">
              {title}
            </Title>
            {actions}
          </Group>
        )}
        {children}
      </Stack>
    </Paper>
  );
}

/** Old data stays while new data is read or fails; a skeleton only appears when waiting is noticeable. */
export function Loaded<T>({
  of,
  height = 120,
  screen,
  missing,
  children,
}: {
  of: Answer<T>;
  height?: number;
  /** What is read, where it is a whole screen: its heading comes with the answer. */
  screen?: string;
  /** Instead of the problem, where what the address names is not there: trying again does not help. */
  missing?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, error, refetch } = of;
  if (missing !== undefined && data === undefined && isMissing(error)) return missing;
  return (
    <>
      {screen !== undefined && data === undefined && <VisuallyHidden component="h1">{screen}</VisuallyHidden>}
      {error !== null && error !== undefined && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined
        ? children(data)
        : (error === null || error === undefined) && <Waiting height={height} />}
    </>
  );
}

function isMissing(error: unknown): boolean {
  return error instanceof CarillonError && error.status === 404 && error.code.endsWith('_not_found');
}

const NOTICEABLE_MS = 150;

export function Waiting({ height }: { height: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), NOTICEABLE_MS);
    return () => clearTimeout(timer);
  }, []);
  return <Box aria-busy="true">{shown ? <Skeleton height={height} radius="md" /> : <Box h={height} />}</Box>;
}
