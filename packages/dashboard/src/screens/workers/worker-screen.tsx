/** One worker: what it offers, what it runs now. */

import { Badge, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Guarded, NotThere } from '../../shell/not-found.tsx';
import { Card, Loaded } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Instant } from '../../ui/instant.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { useWorkerName } from '../../ui/worker-link.tsx';
import { LISTED_ATTEMPT_COLUMNS } from '../runs/run-columns.tsx';
import { DrainButton } from './drain-button.tsx';
import { Slots, stateOf } from './workers-screen.tsx';

const route = getRouteApi('/shell/workers/$workerId');

export function WorkerScreen() {
  return (
    <Guarded action="workers.read">
      <OneWorker />
    </Guarded>
  );
}

function OneWorker() {
  const { workerId } = route.useParams();
  const navigate = useNavigate();
  const nameOf = useWorkerName();
  const worker = useQuery({
    queryKey: queryKeys.worker(workerId),
    queryFn: ({ signal }) => carillon.workers.get(workerId, { signal }),
    refetchInterval: useRefreshMs(POLLING.workerMs),
  });
  return (
    <Stack gap="md">
      <Loaded of={worker} screen="Worker" missing={<NotThere noun="worker" id={workerId} />}>
        {(found) => (
          <>
            <Group justify="space-between">
              <Group gap="sm">
                <Title order={1} size="h3">
                  {found.name ?? nameOf(workerId) ?? 'Worker'}
                </Title>
                <StateBadge state={stateOf(found)} />
              </Group>
              <div data-page-actions>
                <DrainButton worker={found} />
              </div>
            </Group>
            <Card title="About">
              <Table variant="vertical" withRowBorders={false} layout="fixed">
                <Table.Tbody>
                  <Row name="Id">
                    <span className="mono wrap-anywhere">{found.worker_id}</span>
                  </Row>
                  <Row name={found.alive ? 'Busy' : 'Held'}>
                    <Slots worker={found} />
                  </Row>
                  {found.lost_at !== null && (
                    <Row name="Lost">
                      <Instant at={found.lost_at} />
                    </Row>
                  )}
                  {found.lost_run_ids.length > 0 && (
                    <Row name="Taken back">
                      <Group gap={8}>
                        {found.lost_run_ids.map((runId) => (
                          <Link key={runId} to="/runs/$runId" params={{ runId }} className="mono">
                            {runId.slice(-12)}
                          </Link>
                        ))}
                      </Group>
                    </Row>
                  )}
                  <Row name="Handlers">
                    <Group gap={4}>
                      {found.handlers.map((name) => (
                        <Badge key={name} variant="default" tt="none">
                          {name}
                        </Badge>
                      ))}
                    </Group>
                  </Row>
                  <Row name="Labels">
                    <span className="wrap-anywhere">
                      {Object.entries(found.labels)
                        .map(([name, value]) => `${name}=${value}`)
                        .join(', ') || '–'}
                    </span>
                  </Row>
                  <Row name="Runs in">
                    {found.remote
                      ? `a process of its own (${found.language ?? 'unknown'} ${found.version ?? ''})`
                      : 'the server'}
                  </Row>
                  <Row name="Server">
                    <span className="mono wrap-anywhere">{found.node_id}</span>
                  </Row>
                  <Row name="Last beat">
                    <Instant at={found.last_seen_at} />
                  </Row>
                </Table.Tbody>
              </Table>
            </Card>
          </>
        )}
      </Loaded>
      <Card title="Runs on this worker">
        <VirtualList
          label="Runs on this worker"
          queryKey={queryKeys.runs('worker', workerId)}
          list={() => carillon.runs.list({ worker_id: workerId, limit: 50 })}
          columns={LISTED_ATTEMPT_COLUMNS.filter(({ key }) => key !== 'worker')}
          idOf={(run) => `${run.run_id} ${run.epoch} ${run.attempt_number}`}
          everyMs={POLLING.workerMs}
          onOpen={({ run_id: runId }) => void navigate({ to: '/runs/$runId', params: { runId } })}
          empty={<Empty title="It has run nothing that is still kept" />}
        />
      </Card>
    </Stack>
  );
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={130}>
        <Text size="sm" c="dimmed">
          {name}
        </Text>
      </Table.Th>
      <Table.Td>{children}</Table.Td>
    </Table.Tr>
  );
}
