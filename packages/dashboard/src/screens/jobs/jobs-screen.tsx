/** All jobs, newest first, narrowed by the address: when each runs, how its last run went, and actions on many at once. */

import type { JobFilter, ListedJob } from '@carillon/client';
import { Button, Group, Stack, Title } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { BulkBar } from '../../ui/bulk/bulk-bar.tsx';
import { Empty } from '../../ui/empty.tsx';
import { useFirstCommand } from '../../ui/first-command.ts';
import { LinkButton } from '../../ui/link-button.tsx';
import { useShortcuts } from '../../ui/shortcuts.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { JOB_BULK_ACTIONS, type JobBulkFilter, readJobName } from './job-bulk-actions.ts';
import { jobColumns } from './job-columns.tsx';
import { isNarrowed, JobFilters, JobOrder, jobFilterOf, useClearFilters } from './job-filters.tsx';
import classes from './jobs.module.css';
import { useNamespaces } from './use-names.ts';

const route = getRouteApi('/shell/jobs');
const PAGE = 50;
const NOTHING: ReadonlySet<string> = new Set();

export function JobsScreen() {
  const search = route.useSearch();
  const command = useFirstCommand();
  const { ns, sort } = search;
  const navigate = useNavigate();
  const create = usePermission('jobs.create', { namespace: ns });
  const [ids, setIds] = useState<ReadonlySet<string>>(NOTHING);
  const [items, setItems] = useState<readonly ListedJob[]>([]);
  const onItems = useCallback((shown: readonly ListedJob[]) => setItems(shown), []);
  const several = useNamespaces().length > 1 && ns === undefined;
  const columns = useMemo(() => jobColumns({ withNamespace: several }), [several]);
  const clearFilters = useClearFilters();
  useShortcuts({ Escape: () => setIds(NOTHING) });
  const narrowed = isNarrowed(search);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1} size="h3">
          Jobs
        </Title>
        <Group gap="xs">
          <JobOrder search={search} />
          <LinkButton label="New job" to="/jobs/new" why={create.why} />
        </Group>
      </Group>
      <JobFilters search={search} />
      {ids.size > 0 && (
        <BulkBar
          noun="job"
          ids={[...ids]}
          filter={narrowed || ns !== undefined ? (jobFilterOf(search) as JobBulkFilter) : undefined}
          actions={JOB_BULK_ACTIONS}
          namespace={ns}
          nameOf={async (id) => items.find((job) => idOf(job) === id)?.name ?? readJobName(id)}
          ofOne={
            <LinkButton
              label="Duplicate"
              to="/jobs/new"
              search={{ from: [...ids][0] }}
              why={create.why}
              variant="default"
            />
          }
          onClear={() => setIds(NOTHING)}
        />
      )}
      <div className={classes.list}>
        <VirtualList
          label="Jobs"
          queryKey={queryKeys.jobs(search)}
          list={() =>
            carillon.jobs.list({
              ...jobFilterOf(search),
              ...{ sort: sort as JobFilter['sort'], include: 'last_run', limit: PAGE },
            })
          }
          columns={columns}
          idOf={idOf}
          selection={{ ids, change: setIds }}
          onItems={onItems}
          onOpen={({ job_id: jobId }) => void navigate({ to: '/jobs/$jobId', params: { jobId } })}
          empty={
            narrowed ? (
              <Empty title="No job matches">
                Drop a filter to see more.{' '}
                <Button size="compact-xs" variant="subtle" onClick={clearFilters}>
                  Clear all filters
                </Button>
              </Empty>
            ) : (
              <Empty title="No jobs yet" command={command}>
                Make the first one with New job, or paste this into a terminal:
              </Empty>
            )
          }
        />
      </div>
    </Stack>
  );
}

const idOf = ({ job_id: id }: ListedJob) => id;
