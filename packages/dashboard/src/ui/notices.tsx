/** Shows the messages of notify(). */
import { Button, CloseButton, Group, Paper, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import classes from './notices.module.css';
import { dismiss, noticeStore, notify } from './notify.ts';
import { Problem } from './problem.tsx';

export function Notices() {
  const notices = useSyncExternalStore(noticeStore.subscribe, noticeStore.now);
  return (
    <Stack ref={useHeight()} gap="xs" className={classes.notices} role="status" aria-live="polite">
      {notices.map(({ id, message, error, runId, undo }) => (
        <Paper key={id} withBorder shadow="md" radius="md" p="sm">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Stack gap={6} align="flex-start" miw={0}>
              {error === undefined ? (
                <Text size="sm" className="wrap-anywhere">
                  {message}
                </Text>
              ) : (
                <Problem error={error} />
              )}
              {runId !== undefined && (
                <Link to="/runs/$runId" params={{ runId }} onClick={() => dismiss(id)}>
                  Open the run
                </Link>
              )}
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
            </Stack>
            <CloseButton size="sm" aria-label="Dismiss" onClick={() => dismiss(id)} />
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}

/** On a narrow screen they stand across the end of the page, which leaves them room. */
const ACROSS = '(max-width: 48em)';

function useHeight() {
  const stack = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = stack.current;
    if (!element) return;
    const { style } = document.documentElement;
    const tell = () =>
      style.setProperty(
        '--notices-height',
        window.matchMedia(ACROSS).matches && element.offsetHeight > 0
          ? `${element.offsetHeight + 8}px`
          : '0px',
      );
    const observer = new ResizeObserver(tell);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return stack;
}
