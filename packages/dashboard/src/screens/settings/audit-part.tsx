/** Who changed what: each entry with the fields as they were and as they are. */

import type { AuditEntry } from '@carillon/client';
import { actorText } from '@carillon/domain';
import { Drawer, Group, Stack, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterBar, TextFilter, useFilters } from '../../ui/filters.tsx';
import { Instant } from '../../ui/instant.tsx';
import { type Column, VirtualList } from '../../ui/virtual-list.tsx';
import { ChangesTable } from '../edit-job/changes-table.tsx';
import { auditChanges, subjectName } from './audit-details.ts';

const route = getRouteApi('/shell/settings/$part');

const COLUMNS: readonly Column<AuditEntry>[] = [
  { key: 'at', title: 'When', width: 'minmax(72px, 130px)', cell: ({ at }) => <Instant at={at} /> },
  {
    key: 'actor',
    title: 'Who',
    width: 'minmax(80px, 1fr)',
    cell: ({ actor }) => `${actorText(actor)}${viaOf(actor)}`,
  },
  { key: 'action', title: 'What', width: 'minmax(90px, 1fr)', cell: ({ action }) => action },
  {
    key: 'subject',
    title: 'To',
    width: 'minmax(110px, 2fr)',
    from: 'sm',
    below: true,
    cell: (entry) => <Subject entry={entry} />,
  },
  {
    key: 'namespace',
    title: 'Namespace',
    width: '110px',
    from: 'md',
    cell: ({ namespace }) => namespace ?? '–',
  },
  { key: 'address', title: 'From', width: '130px', from: 'lg', cell: ({ address }) => address ?? '–' },
];

/** What is there is a link away. */
function Subject({ entry }: { readonly entry: AuditEntry }) {
  const { kind, id, name } = entry.subject;
  const words = `${kind} ${subjectName(entry) ?? id}`;
  if (kind !== 'job' || name === null) return words;
  return (
    <Link to="/jobs/$jobId" params={{ jobId: id }}>
      {words}
    </Link>
  );
}

function viaOf({ via }: AuditEntry['actor']): string {
  return via === null || via.name === null ? '' : ` (${via.kind} ${via.name})`;
}

export function AuditPart() {
  const search = route.useSearch();
  const { change } = useFilters<typeof search>();
  const { ns, actor, action, subject } = search;
  const [shown, setShown] = useState<AuditEntry>();
  const narrowed = [actor, action, subject].some((value) => value !== undefined);
  return (
    <Card title="Audit log">
      <FilterBar
        onClear={
          narrowed ? () => change({ actor: undefined, action: undefined, subject: undefined }) : undefined
        }
      >
        <TextFilter main label="Who" value={actor} onChange={(value) => change({ actor: value })} />
        <TextFilter
          label="What, such as jobs.update"
          value={action}
          onChange={(value) => change({ action: value })}
        />
        <TextFilter
          label="Id of what it was done to"
          value={subject}
          onChange={(value) => change({ subject: value })}
        />
      </FilterBar>
      <VirtualList
        label="Audit log"
        queryKey={queryKeys.audit(search)}
        list={() => carillon.audit.list({ namespace: ns, actor, action, subject_id: subject, limit: 100 })}
        columns={COLUMNS}
        idOf={({ audit_id: id }) => String(id)}
        onOpen={setShown}
        empty={<Empty title="No entry matches" />}
      />
      <Drawer
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        position="right"
        size="lg"
        title={shown?.action}
      >
        {shown && (
          <Stack>
            <Text size="sm" component="div">
              {actorText(shown.actor)}
              {viaOf(shown.actor)}, <Instant at={shown.at} kind="absolute" />
            </Text>
            <Group gap="xs">
              <Text size="sm" c="dimmed">
                <Subject entry={shown} /> <span className="mono">{shown.subject.id}</span>
              </Text>
            </Group>
            {auditChanges(shown).length > 0 && (
              <ChangesTable
                label="What changed"
                isDifference
                missing="none"
                columns={['Before', 'After']}
                rows={auditChanges(shown)}
              />
            )}
            <Text size="xs" c="dimmed">
              {[shown.address, shown.user_agent, shown.request_id].filter(Boolean).join(' · ')}
            </Text>
          </Stack>
        )}
      </Drawer>
    </Card>
  );
}
