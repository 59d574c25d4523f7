/** Who changed the job, when, and what. */
import type { JobVersion, Json } from '@carillon/client';
import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Instant } from '../../ui/instant.tsx';
import { ChangesTable } from '../edit-job/changes-table.tsx';

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

export function VersionsTab({ jobId }: { jobId: string }) {
  const versions = useQuery({
    queryKey: ['jobs', jobId, 'versions'],
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
              <Version key={`${version.at} ${version.version} ${version.action}`} version={version} />
            ))}
          </Stack>
        )
      }
    </Loaded>
  );
}

function Version({ version: { version, at, action, actor, changes } }: { version: JobVersion }) {
  return (
    <Card>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          <b>{actor.name}</b> {WORDS[action] ?? action}
        </Text>
        <Text size="sm" c="dimmed" component="div">
          {version === null ? '' : `version ${version} · `}
          <Instant at={at} />
        </Text>
      </Group>
      {changes.length > 0 && action !== 'jobs.create' && (
        <ChangesTable
          label={`Changes of version ${version ?? ''}`}
          columns={['Before', 'After']}
          rows={changes.map(({ field, before, after }) => ({
            field,
            values: [before as Json | undefined, after as Json | undefined],
          }))}
        />
      )}
    </Card>
  );
}
