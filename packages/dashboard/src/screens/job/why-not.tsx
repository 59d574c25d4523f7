/** Why a run of the job waits, or why it failed: what holds it, how long that may take, and what a person can do. */

import type { Job, Why } from '@carillon/client';
import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Advice } from '../../ui/advice.tsx';
import { GivenUp } from '../../ui/given-up.tsx';
import { Instant } from '../../ui/instant.tsx';
import { WithCode } from '../../ui/with-code.tsx';

const LETTERS_MAX = 50;

export function WhyNot({ job }: { job: Job }) {
  const waits = (job.waiting_runs ?? 0) > 0;
  const refetchInterval = useRefreshMs();
  const { data: why } = useQuery({
    queryKey: queryKeys.ofJob(job.job_id, 'why'),
    queryFn: ({ signal }) => carillon.jobs.why(job.job_id, { signal }),
    refetchInterval,
    enabled: waits || job.status === 'FAILED',
    placeholderData: undefined,
  });
  const lastRunId = useLastRunId(job, why?.state === 'failed');
  if (!(waits || job.status === 'FAILED') || !why || (why.state !== 'waiting' && why.state !== 'failed'))
    return null;
  return (
    <Alert
      variant="default"
      role="note"
      title={why.state === 'waiting' ? 'Why a run waits' : 'Why it failed'}
    >
      <Stack gap={8}>
        {why.reasons.filter(isTold).map((reason) => {
          const { code, text, until_at: until, held_by: holders } = reason;
          return (
            <Stack key={`${code} ${text}`} gap={2}>
              <Text size="sm" className="wrap-anywhere">
                <WithCode text={text} />
              </Text>
              {until !== null && (
                <Text size="sm" component="div">
                  Until <Instant at={until} />.
                </Text>
              )}
              {holders.length > 0 && (
                <Group gap={6}>
                  <Text size="sm">Held by</Text>
                  {holders.map(({ run_id: runId }) => (
                    <Link key={runId} to="/runs/$runId" params={{ runId }} className="mono">
                      {runId.slice(-12)}
                    </Link>
                  ))}
                </Group>
              )}
              <Advice
                {...{ reason, jobId: job.job_id, namespace: job.namespace }}
                runId={why.state === 'failed' ? (lastRunId ?? undefined) : undefined}
              />
            </Stack>
          );
        })}
        {why.estimated_start_at !== null && why.state === 'waiting' && (
          <Text size="sm" c="dimmed" component="div">
            It probably starts <Instant at={why.estimated_start_at} />
            {why.position === null ? '' : `, as number ${why.position} of those that wait`}.
          </Text>
        )}
      </Stack>
    </Alert>
  );
}

/** The dead letter is shown by itself, with its button. */
const isTold = ({ code }: Why['reasons'][number]) => code !== 'dead_letter';

function useLastRunId({ job_id: jobId }: Job, enabled: boolean): string | undefined {
  const { data } = useQuery({
    queryKey: queryKeys.ofJob(jobId, 'last run'),
    queryFn: ({ signal }) =>
      carillon.runs.list({ job_id: jobId, attempts: 'last', limit: 1 }, { signal }).page(),
    enabled,
  });
  return data?.items[0]?.run_id;
}

/** Runs of the job that were given up and that nobody has handled: one with its button, several with a way to all of them. */
export function OpenLetters({ job }: { job: Job }) {
  const { job_id: jobId, namespace, user_id: userId } = job;
  const allowed = may(useCaller(), 'dead_letters.read', { namespace, userId });
  const { data } = useQuery({
    queryKey: queryKeys.deadLetters('of job', jobId),
    queryFn: () => carillon.deadLetters.list({ job_id: jobId, handled: false, limit: LETTERS_MAX }).page(),
    enabled: allowed,
  });
  const [letter, ...more] = data?.items ?? [];
  if (letter === undefined) return null;
  const many = data?.hasMore ? `${LETTERS_MAX} or more` : `${more.length + 1}`;
  return (
    <Stack gap={4}>
      <GivenUp {...{ letter, namespace, userId }} naming />
      {more.length > 0 && (
        <Text size="sm">
          <Link to="/dead" search={{ job: jobId }}>
            {`${many} runs of this job are dead letters`}
          </Link>
        </Text>
      )}
    </Stack>
  );
}
