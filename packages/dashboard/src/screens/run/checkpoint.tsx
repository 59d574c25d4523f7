/** What the next attempt of a run goes on from: when it was saved, how large it is, and, when it is asked for, what it is. */
import type { RunWithAttempts } from '@carillon/client';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Loaded } from '../../ui/card.tsx';
import { Instant } from '../../ui/instant.tsx';
import { JsonText } from '../../ui/json-text.tsx';
import { isEnded } from '../../ui/run-state.ts';
import { bytes } from '../../ui/time.ts';

interface CheckpointProps {
  readonly run: RunWithAttempts;
  readonly namespace: string | undefined;
  readonly userId: string | null | undefined;
}

export function CheckpointNote({ run, namespace, userId }: CheckpointProps) {
  const [shown, setShown] = useState(false);
  const permission = usePermission('payloads.read', { namespace, userId });
  const { run_id: runId, checkpoint } = run;
  if (checkpoint === null) return null;
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Text size="sm" component="div">
          {isEnded(run.status) ? 'It saved' : 'Its next attempt goes on from'} a checkpoint of{' '}
          {bytes(checkpoint.bytes)}
          {isEnded(run.status) ? ' ' : ', saved '}
          <Instant at={checkpoint.saved_at} />.
        </Text>
        {permission.allowed && (
          <Button
            size="compact-xs"
            variant="default"
            aria-expanded={shown}
            onClick={() => setShown((before) => !before)}
          >
            {shown ? 'Hide it' : 'Show it'}
          </Button>
        )}
      </Group>
      {shown && <Value runId={runId} savedAt={checkpoint.saved_at} />}
    </Stack>
  );
}

function Value({ runId, savedAt }: { runId: string; savedAt: string }) {
  const checkpoint = useQuery({
    queryKey: queryKeys.checkpoint(runId, savedAt),
    queryFn: ({ signal }) => carillon.runs.checkpoint(runId, { signal }),
    retry: false,
  });
  return <Loaded of={checkpoint}>{({ value }) => <JsonText value={value} label="Checkpoint" />}</Loaded>;
}
