/** Starts a run at once, with a change of the payload and a reason where somebody wants to give them. One dialog makes one run. */

import type { Job, Json } from '@carillon/client';
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { JsonInput } from '../../ui/json-input.tsx';
import { notify } from '../../ui/notify.ts';
import { Problem } from '../../ui/problem.tsx';
import { randomKey } from '../../ui/random-key.ts';

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  http: '{"body": {"dry_run": true}}',
  script: '{"args": ["--dry-run"]}',
};

export function RunNowDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const { job_id: jobId, name, namespace, user_id: userId } = job;
  const queries = useQueryClient();
  const navigate = useNavigate();
  // The same for every try of this dialog, so that a second click starts nothing.
  const [idempotencyKey] = useState(randomKey);
  const [input, setInput] = useState<Json | undefined>();
  const [isValid, setIsValid] = useState(true);
  const [reason, setReason] = useState('');
  const payloads = usePermission('payloads.read', { namespace, userId });
  const start = useMutation({
    mutationFn: () =>
      carillon.jobs.runNow(jobId, {
        idempotencyKey,
        ...(input !== undefined && { input: input as Record<string, unknown> }),
        ...(reason !== '' && { reason }),
      }),
    onSuccess: async ({ run_id: runId }) => {
      notify({ message: `A run of ${name} was added.`, runId });
      await queries.invalidateQueries({ queryKey: queryKeys.job(jobId) });
      await navigate({ to: '/runs/$runId', params: { runId } });
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Run ${name} now`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid && !start.isPending && !start.isSuccess) start.mutate();
        }}
      >
        <Stack gap="sm">
          <Text size="sm">
            The schedule stays as it is.{' '}
            {job.status === 'PAUSED' && 'The job is paused; this run starts all the same.'}
          </Text>
          <TextInput
            label="Reason (optional)"
            description="Kept with the run and in the audit log."
            value={reason}
            maxLength={500}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
          {payloads.allowed && (
            <JsonInput
              label="Input (optional)"
              description="A JSON object: its members replace those of the payload, for this run alone; null removes one."
              value={input}
              mustBe="object"
              minRows={3}
              placeholder={PLACEHOLDERS[job.handler] ?? '{"dry_run": true}'}
              onChange={setInput}
              onValid={setIsValid}
            />
          )}
          {start.error && <Problem error={start.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Back
            </Button>
            <Button
              type="submit"
              loading={start.isPending || start.isSuccess}
              disabled={!isValid}
              data-autofocus
            >
              Run
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
