/** Redrives the letters that are ticked, one after the other: it asks once, tells how far it is, and what was refused stays ticked. */

import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';

interface RedriveTickedProps {
  readonly ids: ReadonlySet<string>;
  readonly namespace: string | undefined;
  readonly onChange: (ids: ReadonlySet<string>) => void;
}

export function RedriveTicked({ ids, namespace, onChange }: RedriveTickedProps) {
  const { why } = usePermission('dead_letters.redrive', { namespace });
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState<number>();
  const [error, setError] = useState<unknown>();
  const letters = `${ids.size} ${ids.size === 1 ? 'letter' : 'letters'}`;

  const redrive = async () => {
    setError(undefined);
    const left = new Set(ids);
    for (const [count, id] of [...ids].entries()) {
      setDone(count);
      try {
        await carillon.deadLetters.redrive(id);
        left.delete(id);
      } catch (problem) {
        setError(problem);
      }
    }
    setDone(undefined);
    for (const about of ['dead', 'runs', 'jobs', 'stats'] as const)
      await queries.invalidateQueries({ queryKey: queryKeys.all(about) });
    onChange(left);
    if (left.size > 0) return;
    setAsking(false);
    notify({ message: `${letters} ${ids.size === 1 ? 'was' : 'were'} sent round again.` });
  };
  return (
    <Group component="section" gap="sm" aria-label="Selected dead letters">
      <Text size="sm" fw={600}>
        {ids.size} selected
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        title={why}
        aria-disabled={why !== undefined}
        data-disabled={why !== undefined || undefined}
        onClick={() => why === undefined && setAsking(true)}
      >
        Redrive selected
      </Button>
      <Button size="compact-xs" variant="subtle" onClick={() => onChange(new Set())}>
        Clear selection
      </Button>
      <Modal opened={asking} onClose={() => setAsking(false)} title={`Redrive ${letters}?`} centered>
        <Stack gap="sm">
          <Text size="sm">Each is sent round again as a new run, with the payload its job has now.</Text>
          {error !== undefined && <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)}>
              Back
            </Button>
            <Button disabled={done !== undefined} onClick={() => void redrive()}>
              {done === undefined ? `Redrive ${letters}` : `${done} of ${ids.size} …`}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Group>
  );
}
