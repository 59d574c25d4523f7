/**
 * Instead of the page, or of a screen, when what it needs first could not be read: what is wrong, in the words of the client, and a
 * way to try again. It also tries by itself, less and less often, so that a page heals when its server is back.
 */
import { Stack, Title } from '@mantine/core';
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Problem } from '../ui/problem.tsx';

const FIRST_WAIT_MS = 1_000;
const WAIT_MS_MAX = 15_000;
/** Without a failure for this long, the next one is a new story. */
const FORGOTTEN_MS = 60_000;

// Outside of the component: each try mounts it anew.
let waitMs = FIRST_WAIT_MS;
let failedAt = 0;

function nextWaitMs(): number {
  waitMs = Date.now() - failedAt > FORGOTTEN_MS ? FIRST_WAIT_MS : Math.min(2 * waitMs, WAIT_MS_MAX);
  failedAt = Date.now();
  return waitMs;
}

/** In the place of a screen. */
export function ScreenError({ error }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => void router.invalidate();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each failure
  useEffect(() => {
    const timer = setTimeout(retry, nextWaitMs());
    return () => clearTimeout(timer);
  }, [error]);
  return <Problem error={error} onRetry={retry} />;
}

/** In the place of everything, while it is not known who is signed in. */
export function PageError(props: ErrorComponentProps) {
  return (
    <Stack component="main" p="md" maw={720} mx="auto">
      <Title order={1} size="h3">
        Carillon
      </Title>
      <ScreenError {...props} />
    </Stack>
  );
}
