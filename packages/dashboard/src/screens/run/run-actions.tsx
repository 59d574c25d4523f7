/** What can be done with a run: stop it, run it again, also with another input. */

import type { Job, Json, RunWithAttempts } from '@carillon/client';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { JsonInput } from '../../ui/json-input.tsx';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';
import { randomKey } from '../../ui/random-key.ts';
import { isEnded } from '../../ui/run-state.ts';

interface RunActionsProps {
  readonly run: RunWithAttempts;
  readonly job: Job | undefined;
}

export function RunActions({ run, job }: RunActionsProps) {
  const namespace = job?.namespace;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const mayRerun = usePermission('runs.rerun', { namespace });
  const changed = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: queryKeys.all('runs') }),
      queries.invalidateQueries({ queryKey: queryKeys.all('jobs') }),
    ]);
  const open = async (runId: string) => {
    await changed();
    await navigate({ to: '/runs/$runId', params: { runId } });
  };
  if (!isEnded(run.status))
    return (
      <div data-page-actions>
        <ActionButton
          label="Cancel"
          color="red"
          action="runs.cancel"
          namespace={namespace}
          disabledBecause={run.status === 'CANCELLING' ? 'It was asked to stop.' : undefined}
          confirm={{
            title: 'Cancel this run?',
            effect: 'It is stopped and not tried again. What it has done so far stays done.',
            confirmLabel: 'Cancel the run',
          }}
          run={async () => {
            const { outcome } = await carillon.runs.cancel(run.run_id);
            await changed();
            return outcome === 'cancelled' ? 'The run is cancelled.' : 'The run was asked to stop.';
          }}
        />
      </div>
    );
  return (
    <Group gap="xs" data-page-actions>
      <ActionButton
        label="Run again"
        action="runs.rerun"
        namespace={namespace}
        confirm={{
          title: `Run ${job?.name ?? 'it'} again?`,
          effect: rerunEffect(run, job),
          confirmLabel: 'Run it again',
        }}
        run={async (idempotencyKey) => {
          const { run_id: runId } = await carillon.runs.rerun(run.run_id, { idempotencyKey });
          await open(runId);
          return 'A new run was added.';
        }}
      />
      {mayRerun.allowed && (
        <Button size="compact-sm" variant="default" onClick={() => setAsking(true)}>
          Run again with …
        </Button>
      )}
      <RerunDialog
        key={String(asking)}
        run={run}
        opened={asking}
        onClose={() => setAsking(false)}
        onAdded={(runId) => {
          setAsking(false);
          notify({ message: 'A new run was added.' });
          void open(runId);
        }}
      />
    </Group>
  );
}

function rerunEffect({ job_version: version, input }: RunWithAttempts, job: Job | undefined): string {
  const edited =
    job !== undefined && job.version !== version
      ? ` The job was edited since: it is at version ${job.version}, this run had version ${version}.`
      : '';
  const given = input === null ? '' : ', and the input of this run';
  return `A new run is added and starts as soon as it can, with the job as it is now${given}.${edited} What this run did stays done: it may be done a second time.`;
}

function RerunDialog({
  run,
  opened,
  onClose,
  onAdded,
}: {
  run: RunWithAttempts;
  opened: boolean;
  onClose: () => void;
  onAdded: (runId: string) => void;
}) {
  const [input, setInput] = useState<Json | undefined>((run.input ?? undefined) as Json | undefined);
  const [isValid, setIsValid] = useState(true);
  const [reason, setReason] = useState('');
  const [key] = useState(randomKey);
  const task = useMutation({
    mutationFn: () =>
      carillon.runs.rerun(run.run_id, {
        idempotencyKey: key,
        input: (input ?? {}) as Record<string, unknown>,
        ...(reason !== '' && { reason }),
      }),
    onSuccess: ({ run_id: runId }) => onAdded(runId),
  });
  return (
    <Modal opened={opened} onClose={onClose} title="Run again with another input" size="lg" centered>
      <Stack>
        <JsonInput
          label="Input"
          description="Merged over the payload of the job, for this run alone. null removes a member."
          mustBe="object"
          minRows={6}
          value={input}
          onChange={setInput}
          onValid={setIsValid}
        />
        <TextInput
          label="Reason"
          description="Kept with the run."
          value={reason}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
        {task.error && <Problem error={task.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Back
          </Button>
          <Button loading={task.isPending} disabled={!isValid} onClick={() => task.mutate()}>
            Run again
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
