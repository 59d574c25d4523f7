/** A run that was given up: after how many attempts, what became of it since, and what a person can do now. */
import type { DeadLetter } from '@carillon/client';
import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { queryKeys } from '../api/query-keys.ts';
import { usePermission } from '../api/session.ts';
import { LinkButton } from './link-button.tsx';
import { RedriveButton } from './redrive-button.tsx';

const WHY: Readonly<Record<string, string>> = {
  not_retryable: 'trying again cannot help with its error',
  deadline_passed: 'the time for its attempts is over',
  crashed_workers: 'it was lost with several workers, and may be what ends them',
  never_started: 'it did not start in time',
  retries_stopped: 'the job allows no further attempts',
};

export interface GivenUpProps {
  readonly letter: DeadLetter;
  readonly namespace: string | undefined;
  readonly userId?: string | null | undefined;
  /** Whether the job is still there to be edited. */
  readonly hasJob?: boolean;
  /** Names the run, where the page is not about it. */
  readonly naming?: boolean;
  /** Who redrove it, where that is known. */
  readonly redrivenBy?: string | null | undefined;
}

export function GivenUp(props: GivenUpProps) {
  const { letter, namespace, userId, hasJob = true, naming = false, redrivenBy } = props;
  const navigate = useNavigate();
  const edit = usePermission('jobs.update', { namespace, userId });
  const { attempts, job_id: jobId, run_id: runId, redriven_run_id: redriven, resolved_by: resolved } = letter;
  const after =
    attempts === 0 ? 'without an attempt' : `after ${attempts} attempt${attempts === 1 ? '' : 's'}`;
  const next = redriven ?? resolved;
  const words = WHY[letter.reason];
  const how = useHow(redriven);
  const open = (id: string) => void navigate({ to: '/runs/$runId', params: { runId: id } });
  return (
    <Alert color="red" variant="default" role="region" aria-label="Given up" title={`Given up ${after}`}>
      <Stack gap={8}>
        <Text size="sm" component="div" className="prose">
          {words === undefined ? '' : `Why no further attempt: ${words}. `}
          {next === null ? (
            <>
              {naming ? (
                <>
                  The{' '}
                  <Link to="/runs/$runId" params={{ runId }}>
                    run
                  </Link>{' '}
                  is a{' '}
                </>
              ) : (
                'It is a '
              )}
              <Link to="/dead" search={{ job: jobId }}>
                dead letter
              </Link>
              : nothing happens to it until somebody redrives it. It then runs again as a new run, with the
              job as it is now.
            </>
          ) : (
            <>
              {redriven === null ? 'A later run of the job has succeeded: ' : `It was ${how} as `}
              <Link to="/runs/$runId" params={{ runId: next }} className="mono">
                {next}
              </Link>
              {redriven !== null && redrivenBy ? ` by ${redrivenBy}` : ''}.
            </>
          )}
        </Text>
        {next === null && (
          <Group gap="xs">
            <RedriveButton
              {...{ runId, namespace, jobName: letter.job_name }}
              onRedriven={naming ? undefined : open}
            />
            {hasJob && (
              <LinkButton
                label="Edit the job"
                to="/jobs/$jobId/edit"
                params={{ jobId }}
                variant="default"
                why={edit.why}
              />
            )}
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

/** It was sent round again as a dead letter, or run again as any run can be: both handle it. */
function useHow(runId: string | null): 'redriven' | 'run again' {
  const { data } = useQuery({
    queryKey: queryKeys.run(runId ?? ''),
    queryFn: ({ signal }) => carillon.runs.get(runId!, { signal }),
    enabled: runId !== null,
    retry: false,
    placeholderData: undefined,
  });
  return data?.trigger === 'redrive' ? 'redriven' : 'run again';
}
