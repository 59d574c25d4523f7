/** Runs across all jobs, newest first: what failed, where, and why. */

import type { ListedRun, ListPage, RunFilter } from '@carillon/client';
import { Button, Checkbox, Stack, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { queryKeys } from '../../api/query-keys.ts';
import { BulkBar } from '../../ui/bulk/bulk-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { JobChip, UserChip, WorkerChip } from '../../ui/filter-chips.tsx';
import { ChoiceFilter, ChoicesFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { useFirstCommand } from '../../ui/first-command.ts';
import { useZone } from '../../ui/preferences.tsx';
import { stateWord } from '../../ui/state-badge.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { ViewsMenu } from '../../views/views-menu.tsx';
import { listRuns, showsWaiting, WAITING_SHOWN_MAX, waitingKey } from './list-runs.ts';
import { type RunBulkFilter, readRunName, runBulkActions } from './run-bulk-actions.ts';
import { LISTED_ATTEMPT_COLUMNS, LISTED_RUN_COLUMNS } from './run-columns.tsx';
import { NAMED_RANGE, rangeChoice } from './run-range.ts';

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

const idOf = (run: ListedRun) => run.run_id;
const idOfAttempt = (run: ListedRun) => `${run.run_id} ${run.epoch} ${run.attempt_number}`;

export function RunsScreen() {
  const search = route.useSearch();
  const command = useFirstCommand();
  const { change } = useFilters<typeof search>();
  const navigate = useNavigate();
  const zone = useZone();
  const { ns, status, job, handler, worker, user, label, error, failure, attempts } = search;
  const queries = useQueryClient();
  const each = attempts === 'all';
  const rowId = each ? idOfAttempt : idOf;
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [items, setItems] = useState<readonly ListedRun[]>([]);
  const filter = runFilterOf(search);
  const narrowed = Object.entries(filter).some(
    ([name, value]) => name !== 'namespace' && value !== undefined,
  );
  const alike = failure === undefined ? undefined : items[0]?.error_message?.split('\n', 1)[0];
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
          {...rangeChoice(search, zone)}
          onChange={(value) => value !== NAMED_RANGE && change({ since: value, until: undefined })}
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
        <JobChip id={job} onRemove={() => change({ job: undefined })} />
        <WorkerChip id={worker} onRemove={() => change({ worker: undefined })} />
        <UserChip id={user} onRemove={() => change({ user: undefined })} />
        <Checkbox
          size="xs"
          label="Each attempt"
          checked={each}
          onChange={({ currentTarget }) => {
            untick();
            change({ attempts: currentTarget.checked ? 'all' : undefined });
          }}
        />
        <ViewsMenu screen="runs" search={search} />
      </FilterBar>
      {failure !== undefined && (
        <Text size="sm" role="status" component="div" className="wrap-anywhere">
          Only failures {ns === undefined ? '' : `in the namespace ${ns} `}that are alike
          {alike === undefined ? '' : `: ${alike}`}{' '}
          <Button size="compact-xs" variant="subtle" onClick={() => change({ failure: undefined })}>
            Show others, too
          </Button>
        </Text>
      )}
      {showsWaiting(filter) && <MoreWait filter={filter} />}
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
        queryKey={queryKeys.runs(search)}
        list={() => listRuns(queries, filter, each)}
        columns={each ? LISTED_ATTEMPT_COLUMNS : LISTED_RUN_COLUMNS}
        idOf={rowId}
        selection={{ ids: ticked, change: setTicked }}
        onItems={setItems}
        onOpen={({ run_id: runId }) => void navigate({ to: '/runs/$runId', params: { runId } })}
        empty={
          narrowed ? (
            <Empty title="No run matches">Drop a filter, or look further back.</Empty>
          ) : (
            <Empty title="Nothing has run yet" command={command}>
              A run appears here as soon as a job has started.
            </Empty>
          )
        }
      />
    </Stack>
  );
}

/** Of very many that wait, not all stand in the list. */
function MoreWait({ filter }: { filter: RunFilter }) {
  const { data } = useQuery<ListPage<ListedRun>>({ queryKey: waitingKey(filter), enabled: false });
  if (!data?.hasMore) return null;
  return (
    <Text size="sm" role="status" className="prose">
      More runs wait than the {WAITING_SHOWN_MAX} that stand first:{' '}
      <Link to="/runs" search={(before) => ({ ...before, status: 'QUEUED' })}>
        show all that wait
      </Link>
      .
    </Text>
  );
}

type RunSearch = ReturnType<typeof route.useSearch>;

const NO_FILTERS: Partial<RunSearch> = Object.fromEntries(
  ['status', 'job', 'handler', 'worker', 'label', 'user', 'since', 'until', 'error', 'failure'].map(
    (name) => [name, undefined],
  ),
);

/** What the server is asked for; it is also what a bulk action takes. */
function runFilterOf({
  ns,
  status,
  job,
  handler,
  worker,
  label,
  user,
  since,
  until,
  error,
  failure,
}: RunSearch) {
  return {
    ...{ namespace: ns, status, job_id: job, handler, worker_id: worker, label, user_id: user },
    ...{ since, until, error, failure },
  };
}

/** Several attempts of one run may be ticked. */
function runIdsOf(ticked: ReadonlySet<string>): readonly string[] {
  return [...new Set([...ticked].map((id) => id.split(' ', 1)[0]!))];
}
