/** Settings, part by part; parts that somebody may not read are not in their list. */
import { Stack, Tabs, Title } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Action, may, useCaller } from '../../api/session.ts';
import { NotFound } from '../../shell/not-found.tsx';
import { AuditPart } from './audit-part.tsx';
import { KeysPart } from './keys-part.tsx';
import { MePart } from './me-part.tsx';
import { NamespacesPart } from './namespaces-part.tsx';
import { SecretsPart } from './secrets-part.tsx';
import { UsersPart } from './users-part.tsx';

const route = getRouteApi('/shell/settings/$part');

interface Part {
  readonly name: string;
  readonly label: string;
  /** Left out: everybody. */
  readonly action?: Action;
  readonly show: () => ReactNode;
}

export const PARTS: readonly Part[] = [
  { name: 'me', label: 'My account', show: () => <MePart /> },
  { name: 'namespaces', label: 'Namespaces', action: 'namespaces.read', show: () => <NamespacesPart /> },
  { name: 'users', label: 'Users', action: 'users.read', show: () => <UsersPart /> },
  { name: 'keys', label: 'Keys', show: () => <KeysPart /> },
  { name: 'secrets', label: 'Secrets', action: 'secrets.read', show: () => <SecretsPart /> },
  { name: 'audit', label: 'Audit log', action: 'audit.read', show: () => <AuditPart /> },
];

export function SettingsScreen() {
  const { part } = route.useParams();
  const caller = useCaller();
  const navigate = useNavigate();
  const shown = PARTS.filter(({ action }) => action === undefined || may(caller, action));
  const current = shown.find(({ name }) => name === part);
  if (!current) return <NotFound />;
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
          {current.show()}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
