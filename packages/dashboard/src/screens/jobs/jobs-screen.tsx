/** All jobs, newest first, narrowed by the address. */
import type { ListedJob } from '@carillon/client';
import { Group, Stack, TextInput, Title } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { carillon } from '../../api/carillon.ts';
import { Empty } from '../../ui/empty.tsx';
import { Instant } from '../../ui/instant.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';

const route = getRouteApi('/shell/jobs');

const COLUMNS: readonly Column<ListedJob>[] = [
  { key: 'status', title: 'State', width: '120px', cell: ({ status }) => <StateBadge state={status} /> },
  {
    key: 'name',
    title: 'Name',
    width: 'minmax(120px, 2fr)',
    cell: ({ job_id: jobId, name }) => (
      <Link to="/jobs/$jobId" params={{ jobId }}>
        {name}
      </Link>
    ),
  },
  { key: 'handler', title: 'Handler', width: '120px', from: 'md', cell: ({ handler }) => handler },
  { key: 'next', title: 'Next', width: '150px', cell: ({ next_run_at: at }) => <Instant at={at} /> },
];

export function JobsScreen() {
  const { ns, ...filter } = route.useSearch();
  const navigate = useNavigate({ from: '/jobs' });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Jobs
        </Title>
      </Group>
      <TextInput
        aria-label="Part of the name"
        placeholder="Part of the name"
        size="xs"
        maw={300}
        defaultValue={filter.text ?? ''}
        onChange={({ currentTarget: { value } }) =>
          void navigate({ search: (before) => ({ ...before, text: value || undefined }), replace: true })
        }
      />
      <VirtualList
        label="Jobs"
        queryKey={['jobs', 'list', ns, filter]}
        list={() =>
          carillon.jobs.list({
            namespace: ns,
            status: filter.status,
            text: filter.text,
            handler: filter.handler,
          })
        }
        columns={COLUMNS}
        idOf={(job) => job.job_id}
        onOpen={({ job_id: jobId }) => void navigate({ to: '/jobs/$jobId', params: { jobId } })}
        empty={
          <Empty title="No jobs yet">Make the first one with the button above, or from a terminal.</Empty>
        }
      />
    </Stack>
  );
}
