/** The name and state of a job, when it runs, and everything that can be done with it. */

import type { Job } from '@carillon/client';
import { Badge, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { LinkButton } from '../../ui/link-button.tsx';
import { notify } from '../../ui/notify.ts';
import { useNow } from '../../ui/now.ts';
import { useZone } from '../../ui/preferences.tsx';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import classes from './job.module.css';
import { RunNowDialog } from './run-now-dialog.tsx';
import { whenSentence } from './when-sentence.ts';

const OVER = new Set(['COMPLETED', 'FAILED', 'CANCELLED']);

export function JobHeader({ job }: { job: Job }) {
  const { job_id: jobId, name, namespace, user_id: userId, status } = job;
  const about = { namespace, userId };
  const zone = useZone();
  const now = useNow();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [running, setRunning] = useState(false);
  const update = usePermission('jobs.update', about);
  const create = usePermission('jobs.create', { namespace });
  const run = usePermission('jobs.run', about);
  const reread = () => queries.invalidateQueries({ queryKey: queryKeys.all('jobs') });
  const isOver = OVER.has(status);
  useShortcuts({
    e: () => update.allowed && navigate({ to: '/jobs/$jobId/edit', params: { jobId } }),
    r: () => run.allowed && status !== 'CANCELLED' && setRunning(true),
  });

  const pause = async () => {
    await carillon.jobs.pause(jobId);
    await reread();
    notify({ message: `${name} is paused.`, undo: () => carillon.jobs.resume(jobId).then(reread) });
    return undefined;
  };
  const resume = async () => {
    await carillon.jobs.resume(jobId);
    await reread();
    notify({ message: `${name} runs again.`, undo: () => carillon.jobs.pause(jobId).then(reread) });
    return undefined;
  };
  return (
    <Stack gap={6}>
      <Group justify="space-between" align="flex-start">
        <div className={classes.title}>
          <Title order={1} size="h3">
            {name}
          </Title>
          <StateBadge state={status} />
          <Text size="sm" c="dimmed">
            {namespace}
            {job.key === null ? '' : ` · ${job.key}`}
          </Text>
          {Object.entries(job.labels).map(([label, value]) => (
            <Badge key={label} size="sm" variant="default" tt="none" fw={500}>
              {label}:{value}
            </Badge>
          ))}
        </div>
        <Group gap={6} data-page-actions>
          <ActionButton
            label="Run now"
            action="jobs.run"
            variant="filled"
            {...about}
            disabledBecause={
              status === 'CANCELLED' ? 'It was cancelled: duplicate it to run it again.' : undefined
            }
            run={async () => {
              setRunning(true);
              return undefined;
            }}
          />
          <LinkButton
            label="Edit"
            to="/jobs/$jobId/edit"
            params={{ jobId }}
            variant="default"
            why={update.why}
          />
          {status === 'PAUSED' ? (
            <ActionButton label="Resume" action="jobs.pause" {...about} run={resume} />
          ) : (
            <ActionButton
              label="Pause"
              action="jobs.pause"
              {...about}
              disabledBecause={isOver ? 'It is over: nothing of it would run.' : undefined}
              run={pause}
            />
          )}
          <LinkButton
            label="Duplicate"
            to="/jobs/new"
            search={{ from: jobId }}
            variant="default"
            why={create.why}
          />
          <ActionButton
            label="Cancel"
            action="jobs.cancel"
            {...about}
            disabledBecause={isOver ? 'It is over: there is nothing to cancel.' : undefined}
            confirm={{
              title: `Cancel ${name}?`,
              effect:
                'Runs that wait are dropped, runs that have started are asked to stop, and it never runs again. Its history stays. To stop it for a while, pause it instead.',
              confirmLabel: 'Cancel the job',
            }}
            run={async () => {
              await carillon.jobs.cancel(jobId);
              await reread();
              return `${name} was cancelled.`;
            }}
          />
          <ActionButton
            label="Delete"
            action="jobs.delete"
            {...about}
            confirm={{
              title: `Delete ${name}?`,
              effect:
                'It is cancelled, and its definition is removed. This cannot be undone. Its runs stay in the history for a while.',
              type: name,
              confirmLabel: 'Delete the job',
            }}
            run={async () => {
              await carillon.jobs.remove(jobId);
              await navigate({ to: '/jobs' });
              await queries.invalidateQueries({ queryKey: queryKeys.jobs() });
              return `${name} was deleted.`;
            }}
          />
        </Group>
      </Group>
      <Text className={classes.sentence}>{whenSentence(job, { zone, now })}</Text>
      {running && <RunNowDialog job={job} onClose={() => setRunning(false)} />}
    </Stack>
  );
}
