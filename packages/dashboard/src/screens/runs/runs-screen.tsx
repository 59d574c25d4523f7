/** Runs across all jobs, newest first: what failed, where, and why. */
import type { ListedRun } from '@carillon/client';
import { Stack, Title } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { BulkBar } from '../../ui/bulk/bulk-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ChoiceFilter, ChoicesFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { optionsOf } from '../../ui/options.ts';
import { stateWord } from '../../ui/state-badge.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { ViewsMenu } from '../../views/views-menu.tsx';
import { type RunBulkFilter, readRunName, runBulkActions } from './run-bulk-actions.ts';
import { LISTED_RUN_COLUMNS } from './run-columns.tsx';

const route = getRouteApi('/shell/runs');

const STATUSES = (
  [
    'QUEUED',
    'CLAIMED',
    'RUNNING',
    'CANCELLING',
    'SUCCESS',
    'FAILED',
    'TIMED_OUT',
    'CANCELLED',
    'SKIPPED',
    'RETURNED',
    'LOST',
  ] as const
).map((status) => ({ value: status, label: stateWord(status) }));

const SINCE = optionsOf({
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
});

/** Attempts of one run are rows of their own. */
const idOf = (run: ListedRun) => `${run.run_id} ${run.epoch} ${run.attempt_number}`;

export function RunsScreen() {
  const search = route.useSearch();
  const { change } = useFilters<typeof search>();
  const navigate = useNavigate();
  const { ns, status, handler, label, since, error } = search;
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [items, setItems] = useState<readonly ListedRun[]>([]);
  const filter = runFilterOf(search);
  const narrowed = Object.entries(filter).some(
    ([name, value]) => name !== 'namespace' && value !== undefined,
  );
  const untick = () => setTicked(new Set());
  return (
    <Stack gap="sm">
      <Title order={1} size="h3">
        Runs
      </Title>
      <FilterBar onClear={narrowed ? () => change(NO_FILTERS) : undefined}>
        <TextFilter
          main
          label="Part of the error"
          value={error}
          onChange={(value) => change({ error: value })}
        />
        <ChoicesFilter
          label="State"
          value={status}
          options={STATUSES}
          onChange={(value) => change({ status: value })}
        />
        <ChoiceFilter
          label="When"
          value={since}
          options={SINCE}
          onChange={(value) => change({ since: value })}
        />
        <TextFilter
          label="Handler"
          width={120}
          value={handler}
          onChange={(value) => change({ handler: value })}
        />
        <TextFilter
          label="Label name:value"
          width={150}
          value={label}
          onChange={(value) => change({ label: value })}
        />
        <ViewsMenu screen="runs" search={search} />
      </FilterBar>
      {ticked.size > 0 && (
        <BulkBar
          noun="run"
          ids={runIdsOf(ticked)}
          filter={narrowed || ns !== undefined ? (filter as RunBulkFilter) : undefined}
          actions={runBulkActions({ byStatus: status !== undefined })}
          namespace={ns}
          nameOf={async (id) => items.find(({ run_id: runId }) => runId === id)?.job_name ?? readRunName(id)}
          onClear={untick}
        />
      )}
      <VirtualList
        label="Runs"
        queryKey={['runs', 'list', search]}
        list={() => carillon.runs.list({ ...filter, limit: 50 })}
        columns={LISTED_RUN_COLUMNS}
        idOf={idOf}
        selection={{ ids: ticked, change: setTicked }}
        onItems={setItems}
        onOpen={({ run_id: runId }) => void navigate({ to: '/runs/$runId', params: { runId } })}
        empty={
          narrowed ? (
            <Empty title="No run matches">Drop a filter, or look further back.</Empty>
          ) : (
            <Empty
              title="Nothing has run yet"
              command="npx carillon jobs create hello --http http://127.0.0.1:7420/health/live --wait"
            >
              A run appears here as soon as a job has started.
            </Empty>
          )
        }
      />
    </Stack>
  );
}

type RunSearch = ReturnType<typeof route.useSearch>;

const NO_FILTERS: Partial<RunSearch> = Object.fromEntries(
  ['status', 'job', 'handler', 'worker', 'label', 'user', 'since', 'until', 'error'].map((name) => [
    name,
    undefined,
  ]),
);

/** What the server is asked for; it is also what a bulk action takes. */
function runFilterOf({ ns, status, job, handler, worker, label, user, since, until, error }: RunSearch) {
  return {
    ...{ namespace: ns, status, job_id: job, handler, worker_id: worker, label, user_id: user },
    ...{ since, until, error },
  };
}

/** Several attempts of one run may be ticked. */
function runIdsOf(ticked: ReadonlySet<string>): readonly string[] {
  return [...new Set([...ticked].map((id) => id.split(' ', 1)[0]!))];
}
