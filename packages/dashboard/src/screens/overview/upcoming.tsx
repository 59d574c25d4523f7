/** The next starts, as the schedules say. */

import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { POLLING } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { useRefreshMs } from '../../api/use-refresh.ts';
import { Loaded } from '../../ui/card.tsx';
import { Instant } from '../../ui/instant.tsx';
import { SimpleTable } from '../../ui/simple-table.tsx';

const SHOWN_MAX = 10;

export function Upcoming({ namespace }: { namespace: string | undefined }) {
  const upcoming = useQuery({
    queryKey: queryKeys.jobs('upcoming', namespace),
    queryFn: async () =>
      (await carillon.jobs.upcoming({ namespace, limit: SHOWN_MAX, within: '1h' }).page()).items,
    refetchInterval: useRefreshMs(POLLING.overviewMs),
  });
  return (
    <Loaded of={upcoming} height={80}>
      {(runs) =>
        runs.length === 0 ? (
          <Text size="sm" c="dimmed">
            Nothing starts within the next hour.
          </Text>
        ) : (
          <SimpleTable
            label="Next starts"
            rows={runs}
            idOf={({ job_id: id, run_at: at }) => `${id} ${at}`}
            columns={[
              { key: 'at', title: 'Starts', cell: ({ run_at: at }) => <Instant at={at} /> },
              {
                key: 'job',
                title: 'Job',
                cell: ({ job_id: jobId, name }) => (
                  <Link to="/jobs/$jobId" params={{ jobId }}>
                    {name}
                  </Link>
                ),
              },
              { key: 'handler', title: 'Handler', from: 'sm', cell: ({ handler }) => handler },
              { key: 'namespace', title: 'Namespace', from: 'sm', cell: ({ namespace: where }) => where },
            ]}
          />
        )
      }
    </Loaded>
  );
}
