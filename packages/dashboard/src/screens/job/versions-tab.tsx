/** Who changed the job, when, and what; and an earlier version brought back. */
import type { Job, JobVersion } from '@carillon/client';
import { actorText } from '@carillon/domain';
import { Button, Group, Stack, Text, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Instant } from '../../ui/instant.tsx';
import { ChangesTable } from '../edit-job/changes-table.tsx';
import { recordedChanges } from './recorded-fields.ts';
import { RestoreDialog } from './restore-dialog.tsx';

const SHOWN_MAX = 50;

const WORDS: Readonly<Record<string, string>> = {
  'jobs.create': 'made it',
  'jobs.update': 'changed it',
  'jobs.apply': 'applied it',
  'jobs.pause': 'paused it',
  'jobs.resume': 'resumed it',
  'jobs.skip': 'skipped a fire',
  'jobs.unskip': 'took back a skip',
  'jobs.cancel': 'cancelled it',
};

export function VersionsTab({ job }: { job: Job }) {
  const { job_id: jobId, namespace, user_id: userId } = job;
  const [restoring, setRestoring] = useState<number>();
  const permission = usePermission('jobs.update', { namespace, userId });
  const why = permission.why ?? (job.status === 'CANCELLED' ? 'The job is cancelled.' : undefined);
  const versions = useQuery({
    queryKey: queryKeys.ofJob(jobId, 'versions', job.version),
    queryFn: ({ signal }) =>
      carillon.jobs.versions(jobId, { limit: SHOWN_MAX }, { signal }).toArray({ max: SHOWN_MAX }),
  });
  return (
    <Loaded of={versions} height={200}>
      {(found) =>
        found.length === 0 ? (
          <Empty title="No change is recorded">Changes that are made from now on appear here.</Empty>
        ) : (
          <Stack gap="sm">
            {found.map((version) => (
              <Version
                key={`${version.at} ${version.version} ${version.action}`}
                version={version}
                actions={
                  version.version !== null &&
                  version.version < job.version && (
                    <RestoreButton version={version.version} why={why} onClick={setRestoring} />
                  )
                }
              />
            ))}
            {restoring !== undefined && (
              <RestoreDialog job={job} version={restoring} onClose={() => setRestoring(undefined)} />
            )}
          </Stack>
        )
      }
    </Loaded>
  );
}

interface RestoreButtonProps {
  readonly version: number;
  /** Why it cannot be done. */
  readonly why: string | undefined;
  readonly onClick: (version: number) => void;
}

function RestoreButton({ version, why, onClick }: RestoreButtonProps) {
  return (
    <Tooltip label={why} disabled={why === undefined} events={{ hover: true, focus: true, touch: true }}>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Restore this version: ${version}`}
        aria-disabled={why !== undefined}
        data-disabled={why !== undefined || undefined}
        onClick={() => why === undefined && onClick(version)}
      >
        Restore this version
      </Button>
    </Tooltip>
  );
}

function Version({ version: shown, actions }: { version: JobVersion; actions: ReactNode }) {
  const { version, restored_version: restored, at, action, actor, changes } = shown;
  return (
    <Card>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <b>{actorText(actor)}</b>{' '}
          {restored === null ? (WORDS[action] ?? action) : `restored version ${restored}`}
        </Text>
        <Group gap="sm">
          <Text size="sm" c="dimmed" component="div">
            {version === null ? '' : `version ${version} · `}
            <Instant at={at} />
          </Text>
          {actions}
        </Group>
      </Group>
      {changes.length > 0 && action !== 'jobs.create' && (
        <ChangesTable
          label={`Changes of version ${version ?? ''}`}
          isDifference
          columns={['Before', 'After']}
          rows={recordedChanges(changes).map(({ field, before, after }) => ({
            ...{ field, values: [before, after] },
          }))}
        />
      )}
    </Card>
  );
}
