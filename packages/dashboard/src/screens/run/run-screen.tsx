/** One run: what became of it and why, its attempts, its log as it is written, its result and what it was given. */

import type { Job, RunWithAttempts } from '@carillon/client';
import { Alert, Anchor, Group, Progress, Stack, Tabs, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback } from 'react';
import { BASE_URL, carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { useFilters } from '../../ui/filters.tsx';
import { GivenUp } from '../../ui/given-up.tsx';
import { HiddenNote } from '../../ui/hidden-note.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { JsonText } from '../../ui/json-text.tsx';
import { isEnded, waits } from '../../ui/run-state.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import { bytes, percent } from '../../ui/time.ts';
import { Attempts } from './attempts.tsx';
import { LogView } from './log-view.tsx';
import { Neighbours } from './neighbours.tsx';
import { Payload } from './payload.tsx';
import { Repeats } from './repeats.tsx';
import { RunActions } from './run-actions.tsx';
import { WhyCard } from './why-card.tsx';

const route = getRouteApi('/shell/runs/$runId');

export function RunScreen() {
  const { runId } = route.useParams();
  const search = route.useSearch();
  const { change } = useFilters<typeof search>();
  const refreshMs = useRefreshMs(POLLING.runMs);
  const run = useQuery({
    queryKey: queryKeys.run(runId),
    queryFn: ({ signal }) => carillon.runs.get(runId, { signal }),
    refetchInterval: ({ state }) => (state.data && isEnded(state.data.status) ? false : refreshMs),
  });
  const job = useQuery({
    queryKey: queryKeys.job(run.data?.job_id),
    queryFn: ({ signal }) => carillon.jobs.get(run.data!.job_id, { signal }),
    enabled: run.data !== undefined,
    retry: false,
  });
  const onSearch = useCallback((q: string | undefined) => change({ q }), [change]);
  const namespace = job.data?.namespace;
  const tab = search.tab ?? 'log';
  return (
    <Loaded of={run} height={300} screen="Run">
      {(found) => (
        <Stack gap="md">
          <Group justify="space-between" align="flex-start">
            <Stack gap={4}>
              <Group gap="sm">
                <Title order={1} size="h3">
                  {job.data ? (
                    <Anchor component={Link} to={`/jobs/${job.data.job_id}`} inherit>
                      {job.data.name}
                    </Anchor>
                  ) : (
                    'Run'
                  )}
                </Title>
                <StateBadge state={found.status} />
              </Group>
              <Text size="sm" c="dimmed" component="div">
                Due <Instant at={found.scheduled_at} /> · started <Instant at={found.started_at} /> ·{' '}
                {found.started_at !== null && found.ended_at === null ? 'running for' : 'took'}{' '}
                <Took from={found.started_at} to={found.ended_at} /> · {attemptWords(found, job.data)} ·{' '}
                <span className="mono">{found.run_id}</span>
              </Text>
            </Stack>
            <Group gap="xs">
              <Neighbours run={found} />
              <RunActions run={found} namespace={namespace} />
            </Group>
          </Group>
          {waits(found.status) && <WhyCard run={found} namespace={namespace} />}
          <Story run={found} />
          {found.dead_letter !== null && (
            <GivenUp
              letter={found.dead_letter}
              redrivenBy={redrivenBy(found)}
              {...{ namespace, userId: job.data?.user_id, hasJob: job.data !== undefined }}
            />
          )}
          <Repeats run={found} />
          <Card title="Attempts">
            <Attempts run={found} />
          </Card>
          <Tabs
            value={tab}
            onChange={(value) => change({ tab: (value ?? 'log') as typeof tab })}
            keepMounted={false}
          >
            <Tabs.List>
              <Tabs.Tab value="log">Log</Tabs.Tab>
              <Tabs.Tab value="result">Result</Tabs.Tab>
              <Tabs.Tab value="payload">Payload</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="log" pt="md">
              <LogView run={found} namespace={namespace} search={search.q} onSearch={onSearch} />
            </Tabs.Panel>
            <Tabs.Panel value="result" pt="md">
              <Result run={found} />
            </Tabs.Panel>
            <Tabs.Panel value="payload" pt="md">
              <Payload run={found} job={job.data} />
            </Tabs.Panel>
          </Tabs>
        </Stack>
      )}
    </Loaded>
  );
}

/** What became of it, in words. */
function Story({ run }: { run: RunWithAttempts }) {
  const {
    error_message: error,
    reason,
    progress,
    request_reason: asked,
    late_report: late,
    checkpoint,
    trigger,
    origin_run_id: origin,
    requested_by: who,
  } = run;
  return (
    <>
      {(run.status === 'CANCELLED' || run.status === 'CANCELLING') && (
        <Alert variant="default" title="Cancelled" role="region" aria-label="Cancelled">
          <Text size="sm">{cancelledWords(run)}</Text>
        </Alert>
      )}
      {error !== null && run.status !== 'CANCELLED' && (
        <Alert color="red" variant="default" title="Why it failed" role="region" aria-label="Why it failed">
          <Text size="sm" className="wrap-anywhere mono">
            {error}
          </Text>
          <HiddenNote text={error} />
        </Alert>
      )}
      {error === null && reason !== null && !waits(run.status) && run.status !== 'CANCELLED' && (
        <Alert variant="default" title="Why" role="region" aria-label="Why">
          {reason}
        </Alert>
      )}
      {progress !== null && (
        <Group gap="sm" wrap="nowrap">
          <Progress value={progress.percent} w={240} aria-label="Progress" />
          <Text size="sm">
            {percent(progress.percent)}
            {progress.message === null ? '' : ` · ${progress.message}`}
          </Text>
        </Group>
      )}
      {trigger === 'manual' && origin === null && (
        <Text size="sm">
          Run by hand{who === null ? '' : ` by ${who}`}
          {asked === null ? '.' : `: ${asked}`}
        </Text>
      )}
      {asked !== null && origin !== null && <Text size="sm">Asked for: {asked}</Text>}
      {checkpoint !== null && (
        <Text size="sm" component="div">
          Its next attempt goes on from a checkpoint of {bytes(checkpoint.bytes)}, saved{' '}
          <Instant at={checkpoint.saved_at} />.
        </Text>
      )}
      {late !== null && (
        <Text size="sm" c="dimmed">
          A later report was refused, because the run had ended or was given to another worker: {late}
        </Text>
      )}
    </>
  );
}

/** How many there may be is told by the version of the job that it runs. */
function attemptWords(
  { attempt_number: number, job_version: version }: RunWithAttempts,
  job: Job | undefined,
): string {
  return job?.version === version ? `attempt ${number} of ${job.max_retries + 1}` : `attempt ${number}`;
}

function redrivenBy({
  dead_letter: letter,
  repeated_as: repeats,
}: RunWithAttempts): string | null | undefined {
  return repeats.find(({ run_id: runId }) => runId === letter?.redriven_run_id)?.requested_by;
}

function cancelledWords({ status, started_at: started, cancelled_by: by }: RunWithAttempts): string {
  if (status === 'CANCELLING') return `Asked to stop${by === null ? '' : ` by ${by}`}; it has not ended yet.`;
  const when = started === null ? 'before it had started' : 'while it was running';
  return `Cancelled${by === null ? '' : ` by ${by}`}, ${when}.`;
}

function Result({ run }: { run: RunWithAttempts }) {
  if (run.result_url !== null)
    return (
      <Text size="sm">
        The result has {bytes(run.result_size ?? 0)}.{' '}
        <Anchor href={new URL(`api/runs/${encodeURIComponent(run.run_id)}/result`, BASE_URL).href}>
          Read it
        </Anchor>
      </Text>
    );
  if (run.result === null || run.result === undefined)
    return (
      <Text size="sm" c="dimmed">
        {isEnded(run.status)
          ? 'It answered nothing, or you may not see what it answered.'
          : 'It has not ended yet.'}
      </Text>
    );
  return <JsonText value={run.result} label="Result" />;
}
