/** What failed and why, whether we keep up, and what comes next: the first page. */

import { Button, Group, SegmentedControl, SimpleGrid, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { may, useCaller } from '../../api/session.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { FilterChip, useFilters } from '../../ui/filters.tsx';
import { LinkButton } from '../../ui/link-button.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { rangeWords } from '../runs/run-range.ts';
import { DelayChart, OutcomesChart } from './charts.tsx';
import { Failures, type Span } from './failures.tsx';
import { AccountOffer, FirstSteps } from './first-steps.tsx';
import { Unoffered } from './unoffered.tsx';
import { Upcoming } from './upcoming.tsx';

const route = getRouteApi('/shell/');
const MINUTE_S = 60;
const RANGES = ['1h', '6h', '24h', '7d'] as const;

export function OverviewScreen() {
  const search = route.useSearch();
  const { ns, range = '1h', since, until } = search;
  // Of a range that was dragged on a chart, else the last hour or more.
  const isDragged = since !== undefined && until !== undefined;
  const span: Span = isDragged ? { from: since, to: until } : { from: range };
  const zone = useZone();
  const { change } = useFilters<typeof search>();
  const caller = useCaller();
  const inNamespace = ns === undefined ? {} : { namespace: ns };
  const refetchInterval = useRefreshMs(POLLING.overviewMs);
  const stats = useQuery({
    queryKey: queryKeys.overTime(ns, span),
    queryFn: ({ signal }) => carillon.stats.overTime({ ...inNamespace, ...span }, { signal }),
    refetchInterval,
  });
  const failures = useQuery({
    queryKey: queryKeys.failures(ns, span),
    queryFn: ({ signal }) => carillon.stats.failures({ ...inNamespace, ...span, limit: 20 }, { signal }),
    refetchInterval,
  });
  const jobs = useQuery({
    queryKey: queryKeys.jobs('any', ns),
    queryFn: () => carillon.jobs.list({ ...inNamespace, limit: 1 }).page(),
  });
  const narrow = (from: number, to: number) =>
    change({
      since: new Date(Math.floor(from / MINUTE_S) * MINUTE_S * 1_000).toISOString(),
      until: new Date(Math.ceil(to / MINUTE_S) * MINUTE_S * 1_000).toISOString(),
    });
  if (jobs.data?.items.length === 0) return <FirstSteps />;
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Overview
        </Title>
        <Group gap="xs">
          {isDragged && (
            <>
              <LinkButton label="Runs of this time" to="/runs" search={{ since, until }} variant="default" />
              <FilterChip
                label="Time"
                value={rangeWords({ since, until }, zone)}
                onRemove={() => change({ since: undefined, until: undefined })}
              />
            </>
          )}
          <SegmentedControl
            size="xs"
            aria-label="Range"
            data={[...RANGES]}
            value={isDragged ? '' : range}
            onChange={(value) =>
              change({ range: value as (typeof RANGES)[number], since: undefined, until: undefined })
            }
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
        <Loaded of={failures}>{(groups) => <Failures groups={groups} span={span} />}</Loaded>
      </Card>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Card title="Attempts that ended">
          <Loaded of={stats} height={220}>
            {(found) => <OutcomesChart stats={found} onRange={narrow} />}
          </Loaded>
        </Card>
        <Card title="Start delay">
          <Loaded of={stats} height={220}>
            {(found) => <DelayChart stats={found} onRange={narrow} />}
          </Loaded>
        </Card>
      </SimpleGrid>
      <Card title="What comes next">
        <Upcoming namespace={ns} />
      </Card>
    </Stack>
  );
}
