/** Settings, part by part; parts that somebody may not read are not in their list. */
import { Stack, Tabs, Title } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { may, useCaller, usePermission } from '../../api/session.ts';
import { NotAllowed, NotFound } from '../../shell/not-found.tsx';
import { AuditPart } from './audit-part.tsx';
import { KeysPart } from './keys-part.tsx';
import { MePart } from './me-part.tsx';
import { NamespacesPart } from './namespaces-part.tsx';
import { PARTS, type PartName } from './parts.ts';
import { SecretsPart } from './secrets-part.tsx';
import { UsersPart } from './users-part.tsx';

const route = getRouteApi('/shell/settings/$part');

const CONTENT: Readonly<Record<PartName, () => ReactNode>> = {
  me: () => <MePart />,
  namespaces: () => <NamespacesPart />,
  users: () => <UsersPart />,
  keys: () => <KeysPart />,
  secrets: () => <SecretsPart />,
  audit: () => <AuditPart />,
};

export function SettingsScreen() {
  const { part } = route.useParams();
  const caller = useCaller();
  const navigate = useNavigate();
  const shown = PARTS.filter(({ action }) => action === undefined || may(caller, action));
  const current = shown.find(({ name }) => name === part);
  const refused = PARTS.find(({ name }) => name === part)?.action;
  const { why } = usePermission(refused ?? 'jobs.read');
  if (!current) return refused === undefined ? <NotFound /> : <NotAllowed why={why} />;
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        Settings
      </Title>
      <Tabs
        value={part}
        keepMounted={false}
        onChange={(name) => name !== null && void navigate({ to: '/settings/$part', params: { part: name } })}
      >
        <Tabs.List>
          {shown.map(({ name, label }) => (
            <Tabs.Tab key={name} value={name}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={part} pt="md">
          {CONTENT[current.name]()}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
