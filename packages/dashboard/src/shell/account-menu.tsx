/** Who is signed in: colours, time zone, keys, sign out. */

import type { Whoami } from '@carillon/client';
import {
  Button,
  Divider,
  Popover,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { carillon, serverUrl, setCsrfToken } from '../api/carillon.ts';
import { useKeepPreferences } from '../api/kept-preferences.ts';
import { queryKeys } from '../api/query-keys.ts';
import { dropAllDrafts } from '../screens/edit-job/draft-store.ts';
import { notify } from '../ui/notify.ts';
import { usePreferences } from '../ui/preferences.tsx';

const ZONES = [
  { value: 'local', label: `This browser (${Intl.DateTimeFormat().resolvedOptions().timeZone})` },
  { value: 'job', label: 'Of the job that is shown' },
  { value: 'UTC', label: 'UTC' },
  ...Intl.supportedValuesOf('timeZone')
    .filter((zone) => zone !== 'UTC')
    .map((zone) => ({ value: zone, label: zone })),
];

export function AccountMenu({ caller }: { caller: Whoami }) {
  const { zone, shortcuts } = usePreferences();
  const { colorScheme } = useMantineColorScheme();
  const keep = useKeepPreferences();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [opened, setOpened] = useState(false);
  const signOut = async () => {
    const provider =
      caller.method === 'oidc' ? (await carillon.session.methods().catch(() => undefined))?.oidc : undefined;
    try {
      await carillon.session.close();
    } catch (error) {
      notify({ error });
      return;
    }
    setCsrfToken(undefined);
    dropAllDrafts();
    queries.clear();
    queries.setQueryData(queryKeys.session(), null);
    // Otherwise the next click on the provider's button would sign in again without a question.
    if (provider) location.assign(serverUrl(provider.logout_url));
    else await navigate({ to: '/login' });
  };
  return (
    <Popover position="bottom-end" width={300} trapFocus returnFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <Button
          onClick={() => setOpened(!opened)}
          size="compact-sm"
          variant="default"
          maw={{ base: 90, sm: 180 }}
        >
          {caller.user_name ?? caller.name}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Account">
        <Stack gap="xs">
          <Select
            label="Times are shown in"
            size="xs"
            searchable
            openOnFocus={false}
            data={ZONES}
            limit={60}
            value={zone}
            allowDeselect={false}
            comboboxProps={{ withinPortal: false }}
            onChange={(chosen) => chosen !== null && keep({ zone: chosen })}
          />
          <SegmentedControl
            aria-label="Colours"
            size="xs"
            data={[
              { value: 'auto', label: 'System' },
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
            ]}
            value={colorScheme}
            onChange={(chosen) => keep({ scheme: chosen as 'auto' | 'light' | 'dark' })}
          />
          <Switch
            size="xs"
            label="Keyboard shortcuts"
            checked={shortcuts}
            onChange={({ currentTarget }) => keep({ shortcuts: currentTarget.checked })}
          />
          <Divider />
          <Text size="xs" c="dimmed">
            {caller.grants
              .map(({ role, namespace, own_only: own }) => `${role}@${namespace}${own ? ':own' : ''}`)
              .join(', ')}
          </Text>
          <Button
            variant="default"
            size="xs"
            component={Link}
            to="/settings/me"
            onClick={() => setOpened(false)}
          >
            My account
          </Button>
          <Button variant="default" size="xs" onClick={() => void signOut()}>
            Sign out
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
