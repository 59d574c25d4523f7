/** One run: what became of it and why, its attempts, its log as it is written, its result and what it was given. */

import type { Job, Run, RunWithAttempts } from '@carillon/client';
import { Anchor, Group, Stack, Tabs, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback } from 'react';
import { BASE_URL, carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { NotThere } from '../../shell/not-found.tsx';
import { Card, Loaded } from '../../ui/card.tsx';
import { useFilters } from '../../ui/filters.tsx';
import { GivenUp } from '../../ui/given-up.tsx';
import { Instant, Took } from '../../ui/instant.tsx';
import { JsonText } from '../../ui/json-text.tsx';
import { AboutJob } from '../../ui/preferences.tsx';
import { isEnded, waits } from '../../ui/run-state.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import { bytes } from '../../ui/time.ts';
import { Artifacts } from './artifacts.tsx';
import { AttemptDetails } from './attempt-details.tsx';
import { Attempts } from './attempts.tsx';
import { CheckpointNote } from './checkpoint.tsx';
import { type AttemptSearch, chosenAttempt, searchFor } from './chosen-attempt.ts';
import { LogView } from './log-view.tsx';
import { Neighbours } from './neighbours.tsx';
import { Payload } from './payload.tsx';
import { Repeats } from './repeats.tsx';
import { RunActions } from './run-actions.tsx';
import { Story } from './run-story.tsx';
import { SinceSuccess } from './since-success.tsx';
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
  const choose = (of: RunWithAttempts, attempt: Run | undefined) => change(searchFor(of.attempts, attempt));
  const namespace = job.data?.namespace;
  const tab = search.tab ?? 'log';
  return (
    <Loaded of={run} height={300} screen="Run" missing={<NotThere noun="run" id={runId} />}>
      {(found) => (
        <AboutJob zone={job.data?.time_zone}>
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
                <RunActions run={found} job={job.data} />
              </Group>
            </Group>
            {waits(found.status) && <WhyCard run={found} namespace={namespace} />}
            <Story run={found} />
            <CheckpointNote run={found} namespace={namespace} userId={job.data?.user_id} />
            {found.dead_letter !== null && (
              <GivenUp
                letter={found.dead_letter}
                redrivenBy={redrivenBy(found)}
                {...{ namespace, userId: job.data?.user_id, hasJob: job.data !== undefined }}
              />
            )}
            <Repeats run={found} />
            <Card title="Attempts">
              <Attempts run={found} chosen={chosenAttempt(found.attempts, search)} />
            </Card>
            <Artifacts run={found} {...{ namespace, userId: job.data?.user_id }} />
            <Chosen run={found} search={search} onAll={() => choose(found, undefined)} />
            <Tabs
              value={tab}
              onChange={(value) => change({ tab: (value ?? 'log') as typeof tab })}
              keepMounted={false}
            >
              <Tabs.List>
                <Tabs.Tab value="log">Log</Tabs.Tab>
                <Tabs.Tab value="result">Result</Tabs.Tab>
                <Tabs.Tab value="payload">Payload</Tabs.Tab>
                {isFailed(found) && <Tabs.Tab value="compare">Since the last success</Tabs.Tab>}
              </Tabs.List>
              <Tabs.Panel value="log" pt="md">
                <LogView
                  run={found}
                  attempt={chosenAttempt(found.attempts, search)}
                  onAttempt={(attempt) => choose(found, attempt)}
                  {...{ namespace, search: search.q, onSearch }}
                />
              </Tabs.Panel>
              <Tabs.Panel value="result" pt="md">
                <Result run={chosenAttempt(found.attempts, search) ?? found} />
              </Tabs.Panel>
              <Tabs.Panel value="payload" pt="md">
                <Payload run={found} job={job.data} />
              </Tabs.Panel>
              <Tabs.Panel value="compare" pt="md">
                <SinceSuccess run={found} job={job.data} />
              </Tabs.Panel>
            </Tabs>
          </Stack>
        </AboutJob>
      )}
    </Loaded>
  );
}

/** The attempt that the address names. */
function Chosen(props: { run: RunWithAttempts; search: AttemptSearch; onAll: () => void }) {
  const { run, search, onAll } = props;
  const attempt = chosenAttempt(run.attempts, search);
  return attempt ? <AttemptDetails attempt={attempt} attempts={run.attempts} onAll={onAll} /> : null;
}

function isFailed({ status }: Run): boolean {
  return status === 'FAILED' || status === 'TIMED_OUT';
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

function Result({ run }: { run: Run }) {
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
