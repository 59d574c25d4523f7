/** One job: whether and when it will run, how its last runs went, and what can be done with it. */

import type { ListedRun } from '@carillon/client';
import { Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { NotThere } from '../../shell/not-found.tsx';
import { Loaded } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ChoiceFilter, useFilters } from '../../ui/filters.tsx';
import { AboutJob } from '../../ui/preferences.tsx';
import { stateWord } from '../../ui/state-badge.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { RUN_COLUMNS } from '../runs/run-columns.tsx';
import { CalendarTab } from './calendar-tab.tsx';
import { DefinitionTab } from './definition-tab.tsx';
import { JobHeader } from './job-header.tsx';
import { NextFires } from './next-fires.tsx';
import { RunStrip } from './run-strip.tsx';
import { VersionsTab } from './versions-tab.tsx';
import { OpenLetters, WhyNot } from './why-not.tsx';

const route = getRouteApi('/shell/jobs/$jobId');
const PAGE = 50;
const TABS = [
  { value: 'runs', label: 'Runs' },
  { value: 'definition', label: 'Definition' },
  { value: 'calendar', label: 'Calendar' },
  { value: 'versions', label: 'Versions' },
] as const;

export function JobScreen() {
  const { jobId } = route.useParams();
  const { tab = 'runs', month, status } = route.useSearch();
  const { change } = useFilters<{ status: string | undefined }>();
  const navigate = useNavigate();
  const refetchInterval = useRefreshMs();
  const job = useQuery({
    queryKey: queryKeys.job(jobId),
    queryFn: ({ signal }) => carillon.jobs.get(jobId, { signal }),
    refetchInterval,
    placeholderData: undefined,
  });
  const show = (to: string | null) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, tab: to ?? undefined }),
      replace: true,
    } as never);
  return (
    <Loaded of={job} height={300} screen="Job" missing={<NotThere noun="job" id={jobId} />}>
      {(found) => (
        <AboutJob zone={found.time_zone}>
          <Stack gap="md">
            <JobHeader job={found} />
            <WhyNot job={found} />
            <OpenLetters job={found} />
            <NextFires job={found} />
            <RunStrip jobId={jobId} />
            <Tabs value={tab} onChange={show} keepMounted={false}>
              <Tabs.List mb="sm">
                {TABS.map(({ value, label }) => (
                  <Tabs.Tab key={value} value={value}>
                    {label}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              <Tabs.Panel value="runs">
                <Runs jobId={jobId} status={status} onStatus={(to) => change({ status: to })} />
              </Tabs.Panel>
              <Tabs.Panel value="definition">
                <DefinitionTab job={found} />
              </Tabs.Panel>
              <Tabs.Panel value="versions">
                <VersionsTab job={found} />
              </Tabs.Panel>
              <Tabs.Panel value="calendar">
                <CalendarTab job={found} month={month} />
              </Tabs.Panel>
            </Tabs>
          </Stack>
        </AboutJob>
      )}
    </Loaded>
  );
}

const ENDS = (['FAILED', 'TIMED_OUT', 'SUCCESS', 'CANCELLED', 'SKIPPED'] as const).map((value) => ({
  value,
  label: stateWord(value),
}));

interface RunsProps {
  readonly jobId: string;
  readonly status: string | undefined;
  readonly onStatus: (status: string | undefined) => void;
}

function Runs({ jobId, status, onStatus }: RunsProps) {
  const navigate = useNavigate();
  return (
    <Stack gap="xs">
      <ChoiceFilter label="State" value={status} options={ENDS} onChange={onStatus} />
      <VirtualList
        label="Runs of this job"
        queryKey={queryKeys.ofJob(jobId, 'runs', ...(status === undefined ? [] : [status]))}
        list={() => carillon.runs.list({ job_id: jobId, attempts: 'last', limit: PAGE, status })}
        columns={RUN_COLUMNS}
        idOf={idOf}
        onOpen={({ run_id: runId }) => void navigate({ to: '/runs/$runId', params: { runId } })}
        empty={
          status === undefined ? (
            <Empty title="It has not run yet">Run it now, or wait until its schedule starts it.</Empty>
          ) : (
            <Empty title="No run is in this state">Choose another state, or none.</Empty>
          )
        }
      />
    </Stack>
  );
}

const idOf = (run: ListedRun) => run.run_id;
