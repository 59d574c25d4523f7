/** What failed and why, whether we keep up, and what comes next: the first page. */

import { Button, Group, SegmentedControl, SimpleGrid, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { useFilters } from '../../ui/filters.tsx';
import { DelayChart, OutcomesChart } from './charts.tsx';
import { Failures } from './failures.tsx';
import { AccountOffer, FirstSteps } from './first-steps.tsx';
import { Unoffered } from './unoffered.tsx';
import { Upcoming } from './upcoming.tsx';

const route = getRouteApi('/shell/');
const RANGES = ['1h', '6h', '24h', '7d'] as const;

export function OverviewScreen() {
  const search = route.useSearch();
  const { ns, range = '1h' } = search;
  const { change } = useFilters<typeof search>();
  const navigate = useNavigate();
  const caller = useCaller();
  const inNamespace = ns === undefined ? {} : { namespace: ns };
  const refetchInterval = useRefreshMs(POLLING.overviewMs);
  const stats = useQuery({
    queryKey: queryKeys.overTime(ns, range),
    queryFn: ({ signal }) => carillon.stats.overTime({ ...inNamespace, from: range }, { signal }),
    refetchInterval,
  });
  const failures = useQuery({
    queryKey: queryKeys.failures(ns, range),
    queryFn: ({ signal }) => carillon.stats.failures({ ...inNamespace, from: range, limit: 20 }, { signal }),
    refetchInterval,
  });
  const jobs = useQuery({
    queryKey: queryKeys.jobs('any', ns),
    queryFn: () => carillon.jobs.list({ ...inNamespace, limit: 1 }).page(),
  });
  const openRange = (from: number, to: number) =>
    void navigate({
      to: '/runs',
      search: {
        since: new Date(from * 1_000).toISOString(),
        until: new Date(to * 1_000).toISOString(),
      },
    });
  if (jobs.data?.items.length === 0) return <FirstSteps />;
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Overview
        </Title>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="Range"
            data={[...RANGES]}
            value={range}
            onChange={(value) => change({ range: value as (typeof RANGES)[number] })}
          />
          {may(caller, 'jobs.create') && (
            <Button size="compact-sm" component={Link} to="/jobs/new">
              New job
            </Button>
          )}
        </Group>
      </Group>
      <AccountOffer />
      <Unoffered />
      <Card title="What failed">
        <Loaded of={failures}>{(groups) => <Failures groups={groups} range={range} />}</Loaded>
      </Card>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Card title="Attempts that ended">
          <Loaded of={stats} height={220}>
            {(found) => <OutcomesChart stats={found} onRange={openRange} />}
          </Loaded>
        </Card>
        <Card title="Start delay">
          <Loaded of={stats} height={220}>
            {(found) => <DelayChart stats={found} onRange={openRange} />}
          </Loaded>
        </Card>
      </SimpleGrid>
      <Card title="What comes next">
        <Upcoming namespace={ns} />
      </Card>
    </Stack>
  );
}
