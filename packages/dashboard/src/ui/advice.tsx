/** What helps when something does not run, as links and buttons; commands are for the command line. */

import type { Why } from '@carillon/client';
import { Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { carillon } from '../api/carillon.ts';
import { queryKeys } from '../api/query-keys.ts';
import { type Action, usePermission } from '../api/session.ts';
import { ActionButton } from './action-button.tsx';
import { LinkButton } from './link-button.tsx';

type Reason = Why['reasons'][number];
type Step = 'edit' | 'workers' | 'log' | 'resume' | 'run' | 'duplicate';

const ADVICE: Partial<Record<Reason['code'], readonly [words: string, ...steps: Step[]]>> = {
  paused: ['Resume the job, and what waits starts.', 'resume'],
  at_limit: ['Wait until one of them has ended, cancel one, or allow more runs at a time.', 'edit'],
  no_worker: [
    'Start a worker that offers the handler. If its name is misspelled, edit the job.',
    'edit',
    'workers',
  ],
  scripts_off: [
    'Start the server with --script-enabled, or a worker for scripts beside it (docs/scripts.md).',
    'workers',
  ],
  workers_draining: ['Let a worker take runs again, or start another one.', 'workers'],
  slots_busy: [
    'Wait until a slot is free, start another worker, or raise the priority of the job.',
    'workers',
    'edit',
  ],
  starting: ['If it stays like this for more than a few seconds, look at the workers.', 'workers'],
  no_scheduler: ['Start a server that schedules: within seconds it takes over what is due.'],
  failed: ['Read its log, and mend the cause.', 'log'],
  cancelled: ['A cancelled job cannot be resumed: duplicate it.', 'duplicate'],
  schedule_ended: ['Give it a new schedule, or run it once more.', 'edit', 'run'],
};

/** For those who may not read logs. */
const WITHOUT_LOGS: typeof ADVICE = { failed: ['Mend the cause.'] };

export interface AdviceProps {
  readonly reason: Reason;
  readonly jobId: string;
  readonly runId?: string | undefined;
  readonly namespace: string | undefined;
}

export function Advice({ reason, ...of }: AdviceProps) {
  const mayReadLogs = usePermission('logs.read', { namespace: of.namespace }).allowed;
  const [words, ...steps] = (!mayReadLogs && WITHOUT_LOGS[reason.code]) || (ADVICE[reason.code] ?? []);
  if (words === undefined || reason.fix === null) return null;
  return (
    <Group gap="xs">
      <Text size="sm" className="wrap-anywhere">
        {words}
      </Text>
      {steps.map((step) => (
        <StepButton key={step} step={step} {...of} />
      ))}
    </Group>
  );
}

const LINKS: Partial<Record<Step, readonly [label: string, to: string, action: Action | undefined]>> = {
  edit: ['Edit the job', '/jobs/$jobId/edit', 'jobs.update'],
  workers: ['See the workers', '/workers', 'workers.read'],
  log: ['Open the log', '/runs/$runId', undefined],
  duplicate: ['Duplicate', '/jobs/new', 'jobs.create'],
};

function StepButton({ step, jobId, runId, namespace }: Omit<AdviceProps, 'reason'> & { step: Step }) {
  const queries = useQueryClient();
  const [label, to, action] = LINKS[step] ?? [];
  const { why } = usePermission(action ?? 'runs.read', { namespace });
  // Who may not look at workers is not led there.
  if (step === 'workers' && why !== undefined) return null;
  if (step === 'log' && runId === undefined) return null;
  if (label !== undefined && to !== undefined)
    return (
      <LinkButton
        {...{ label, to, variant: 'default' }}
        params={runId === undefined ? { jobId } : { jobId, runId }}
        search={step === 'duplicate' ? { from: jobId } : {}}
        why={action === undefined ? undefined : why}
      />
    );
  const act = async () => {
    if (step === 'resume') await carillon.jobs.resume(jobId);
    const added = step === 'resume' ? undefined : await carillon.jobs.runNow(jobId);
    await queries.invalidateQueries({ queryKey: queryKeys.all('jobs') });
    await queries.invalidateQueries({ queryKey: queryKeys.all('runs') });
    return added ? { message: 'A run was added.', runId: added.run_id } : 'The job runs again.';
  };
  return (
    <ActionButton
      label={step === 'resume' ? 'Resume' : 'Run now'}
      action={step === 'resume' ? 'jobs.pause' : 'jobs.run'}
      namespace={namespace}
      run={act}
    />
  );
}
