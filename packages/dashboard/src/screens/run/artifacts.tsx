/** The files that a run left, to be saved. Nothing where there are none, or where the caller may not read them. */
import type { Artifact, RunWithAttempts } from '@carillon/client';
import { Anchor, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { BASE_URL, carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { usePermission } from '../../api/session.ts';
import { Card } from '../../ui/card.tsx';
import { Instant } from '../../ui/instant.tsx';
import { isEnded } from '../../ui/run-state.ts';
import { bytes } from '../../ui/time.ts';

export interface ArtifactsProps {
  readonly run: RunWithAttempts;
  readonly namespace: string | undefined;
  readonly userId: string | null | undefined;
}

export function Artifacts({ run: { run_id: runId, attempts, status }, namespace, userId }: ArtifactsProps) {
  const permission = usePermission('payloads.read', { namespace, userId });
  // They are there when their attempt has ended.
  const ended = attempts.filter((attempt) => isEnded(attempt.status)).map(({ epoch }) => epoch);
  const { data: files = [] } = useQuery({
    queryKey: queryKeys.artifacts(runId, `${ended.join(' ')} ${status}`),
    queryFn: ({ signal }) => carillon.runs.artifacts(runId, { signal }),
    enabled: permission.allowed && ended.length > 0,
    retry: false,
  });
  if (files.length === 0) return null;
  return (
    <Card title="Files">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Size</Table.Th>
            <Table.Th>Attempt</Table.Th>
            <Table.Th>Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {files.map((file) => (
            <Table.Tr key={`${file.attempt} ${file.created_at} ${file.name}`}>
              <Table.Td>
                <Anchor size="sm" download={file.name} href={addressOf(runId, file)}>
                  {file.name}
                </Anchor>
              </Table.Td>
              <Table.Td>{bytes(file.bytes)}</Table.Td>
              <Table.Td>{file.attempt}</Table.Td>
              <Table.Td>
                <Instant at={file.created_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

function addressOf(runId: string, { name, attempt }: Artifact): string {
  const path = `api/runs/${encodeURIComponent(runId)}/artifacts/${encodeURIComponent(name)}`;
  return new URL(`${path}?attempt=${attempt}`, BASE_URL).href;
}
