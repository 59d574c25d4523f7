/** Why a run of the job waits, or why it failed: what holds it, how long that may take, and what a person can do. */
import type { Job } from '@carillon/client';
import { Alert, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Instant } from '../../ui/instant.tsx';

export function WhyNot({ job }: { job: Job }) {
  const waits = (job.waiting_runs ?? 0) > 0;
  const refetchInterval = useRefreshMs();
  const { data: why } = useQuery({
    queryKey: ['jobs', job.job_id, 'why'],
    queryFn: ({ signal }) => carillon.jobs.why(job.job_id, { signal }),
    refetchInterval,
    enabled: waits || job.status === 'FAILED',
    placeholderData: undefined,
  });
  if (!(waits || job.status === 'FAILED') || !why || (why.state !== 'waiting' && why.state !== 'failed'))
    return null;
  return (
    <Alert
      variant="default"
      role="note"
      title={why.state === 'waiting' ? 'Why a run waits' : 'Why it failed'}
    >
      <Stack gap={8}>
        {why.reasons.map(({ code, text, until_at: until, held_by: holders, fix }) => (
          <Stack key={`${code} ${text}`} gap={2}>
            <Text size="sm" className="wrap-anywhere">
              {text}
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
            {fix !== null && (
              <Text size="sm" fw={500}>
                {fix}
              </Text>
            )}
          </Stack>
        ))}
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
