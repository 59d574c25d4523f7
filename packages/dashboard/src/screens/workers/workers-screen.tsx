/** Who runs jobs: slots, handlers, version, last beat, and what they do now. */

import type { Worker } from '@carillon/client';
import { Badge, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Guarded } from '../../shell/not-found.tsx';
import { Loaded } from '../../ui/card.tsx';
import { COMMAND } from '../../ui/command-name.ts';
import { Empty } from '../../ui/empty.tsx';
import { ChoiceFilter, FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { Instant } from '../../ui/instant.tsx';
import { optionsOf, withChosen } from '../../ui/options.ts';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { nameOfWorker, useWorkerName } from '../../ui/worker-link.tsx';
import { useHandlers } from '../jobs/use-names.ts';
import { DrainButton } from './drain-button.tsx';

const route = getRouteApi('/shell/workers');
const SUMMED_MAX = 1_000;
const ALIVE = optionsOf({ true: 'alive', false: 'lost' });

const COLUMNS: readonly Column<Worker>[] = [
  {
    key: 'state',
    title: 'State',
    width: 'minmax(84px, 92px)',
    cell: (worker) => <StateBadge state={stateOf(worker)} />,
  },
  {
    key: 'name',
    title: 'Worker',
    width: 'minmax(84px, 2fr)',
    cell: (worker) => <Name worker={worker} />,
  },
  { key: 'slots', title: 'Busy', width: 'minmax(112px, 1fr)', cell: (worker) => <Slots worker={worker} /> },
  {
    key: 'handlers',
    title: 'Handlers',
    width: 'minmax(120px, 2fr)',
    from: 'lg',
    below: true,
    cell: ({ handlers }) => (
      <Group gap={4} wrap="nowrap" title={handlers.join(', ')}>
        {handlers.map((name) => (
          <Badge key={name} size="sm" variant="default" tt="none" flex="none">
            {name}
          </Badge>
        ))}
      </Group>
    ),
  },
  {
    key: 'where',
    title: 'Written in',
    width: '130px',
    from: 'lg',
    cell: ({ remote, language, version }) =>
      remote ? `${language ?? 'unknown'} ${version ?? ''}` : <span className="muted">in the server</span>,
  },
  {
    key: 'beat',
    title: 'Last beat',
    width: '110px',
    from: 'sm',
    cell: ({ last_seen_at: at }) => <Instant at={at} />,
  },
  { key: 'actions', title: '', width: '90px', from: 'sm', cell: (worker) => <DrainButton worker={worker} /> },
];

/** The names that are kept may be older than a worker that has just come. */
function Name({ worker }: { worker: Worker }) {
  const { worker_id: workerId, name } = worker;
  const kept = useWorkerName()(workerId);
  return (
    <Link to="/workers/$workerId" params={{ workerId }} title={workerId}>
      {name ?? kept ?? nameOfWorker(worker) ?? <span className="mono">{workerId}</span>}
    </Link>
  );
}

export function stateOf({ alive, draining }: Worker): 'ALIVE' | 'DRAINING' | 'DEAD' {
  if (!alive) return 'DEAD';
  return draining ? 'DRAINING' : 'ALIVE';
}

export function Slots({ worker }: { worker: Worker }) {
  const { running, slots, stuck, alive, lost_runs: lost } = worker;
  if (!alive)
    return (
      <Text span inherit className="tabular">
        held {lost} {lost === 1 ? 'run' : 'runs'}
      </Text>
    );
  return (
    <Group gap={6} wrap="nowrap">
      <Progress
        value={slots === 0 ? 0 : (100 * running) / slots}
        w={60}
        size="sm"
        color={stuck > 0 ? 'orange' : 'blue'}
        aria-label={`${running} of ${slots} slots are busy`}
      />
      <Text span inherit className="tabular">
        {running} / {slots}
        {stuck > 0 ? ` (${stuck} stuck)` : ''}
      </Text>
    </Group>
  );
}

export function WorkersScreen() {
  return (
    <Guarded action="workers.read">
      <Workers />
    </Guarded>
  );
}

function Workers() {
  const search = route.useSearch();
  const { change } = useFilters<typeof search>();
  const navigate = useNavigate();
  const { label, handler, alive } = search;
  const filter = { label, handler, alive };
  const narrowed = Object.values(filter).some((value) => value !== undefined);
  const offered = useHandlers()?.map(({ name }) => ({ value: name, label: name })) ?? [];
  const all = useQuery({
    queryKey: queryKeys.workerSum(filter),
    queryFn: () => carillon.workers.list({ ...filter, limit: 200 }).toArray({ max: SUMMED_MAX }),
    refetchInterval: useRefreshMs(POLLING.workersMs),
  });
  return (
    <Stack gap="sm">
      <Title order={1} size="h3">
        Workers
      </Title>
      <Loaded of={all} height={20}>
        {(workers) => {
          const living = workers.filter(({ alive }) => alive);
          const sum = (of: (worker: Worker) => number) =>
            living.reduce((total, worker) => total + of(worker), 0);
          return (
            <Text size="sm" c="dimmed">
              {living.length} alive · {sum(({ running }) => running)} of {sum(({ slots }) => slots)} slots
              busy
              {workers.length > living.length
                ? ` · ${workers.length - living.length} lost in the last hour`
                : ''}
            </Text>
          );
        }}
      </Loaded>
      <FilterBar
        onClear={
          narrowed ? () => change({ label: undefined, handler: undefined, alive: undefined }) : undefined
        }
      >
        <TextFilter
          main
          label="Label name:value"
          value={label}
          onChange={(value) => change({ label: value })}
        />
        <ChoiceFilter
          label="Handler"
          value={handler}
          options={withChosen(offered, handler)}
          onChange={(value) => change({ handler: value })}
        />
        <ChoiceFilter
          label="Alive or lost"
          value={alive === undefined ? undefined : String(alive)}
          options={ALIVE}
          onChange={(value) => change({ alive: value === undefined ? undefined : value === 'true' })}
        />
      </FilterBar>
      <VirtualList
        label="Workers"
        queryKey={queryKeys.workers(search)}
        list={() => carillon.workers.list({ ...filter, limit: 100 })}
        columns={COLUMNS}
        idOf={({ worker_id: id }) => id}
        everyMs={POLLING.workersMs}
        onOpen={({ worker_id: workerId }) =>
          void navigate({ to: '/workers/$workerId', params: { workerId } })
        }
        empty={
          <Empty
            title="No worker"
            command={`${COMMAND} worker --url http://127.0.0.1:7420 --key <worker key> --handlers http,script`}
          >
            A server without the role dispatcher runs nothing by itself. Start a worker, or a server with all
            roles.
          </Empty>
        }
      />
    </Stack>
  );
}
