/** What surrounds every screen: where to go, in which namespace, whether we keep up, who is signed in. */
import { AppShell, Burger, Button, Group, Kbd, NavLink, Text } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState, useSearch } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { useKeepPreferences, useKeptPreferences } from '../api/kept-preferences.ts';
import { LiveProvider } from '../api/live.tsx';
import { type Action, may, sessionQuery } from '../api/session.ts';
import { Waiting } from '../ui/card.tsx';
import { notify } from '../ui/notify.ts';
import { nextZone, preferencesNow } from '../ui/preferences.tsx';
import { useShortcuts } from '../ui/shortcuts.ts';
import { zoneName } from '../ui/time.ts';
import { AccountMenu } from './account-menu.tsx';
import { KeysDialog } from './keys-dialog.tsx';
import { NamespacePicker } from './namespace-picker.tsx';
import { OpenLettersCount } from './open-letters-count.tsx';
import { Palette } from './palette.tsx';
import classes from './shell.module.css';
import { StatusBar, StatusInMenu } from './status-bar.tsx';

export interface Screen {
  readonly to: '/' | '/jobs' | '/runs' | '/dead' | '/workers' | '/settings/$part';
  readonly label: string;
  /** After `g`. */
  readonly key: string;
  readonly part?: string;
  /** Left out: everybody. */
  readonly action?: Action;
}

export const SCREENS: readonly Screen[] = [
  { to: '/', label: 'Overview', key: 'o' },
  { to: '/jobs', label: 'Jobs', key: 'j' },
  { to: '/runs', label: 'Runs', key: 'r' },
  { to: '/dead', label: 'Dead letters', key: 'd' },
  { to: '/workers', label: 'Workers', key: 'w', action: 'workers.read' },
  { to: '/settings/$part', label: 'Settings', key: 's', part: 'me' },
];

export function Shell() {
  const { data: caller } = useQuery(sessionQuery);
  const { ns } = useSearch({ strict: false });
  useKeptPreferences();
  const navigate = useNavigate();
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const href = useRouterState({ select: (state) => state.location.href });
  // The session ended while the page was open: sign in, and come back.
  useEffect(() => {
    // The address of the sign-in is there before its screen is: it must not become the page to come back to.
    if (caller === null && !path.endsWith('/login')) void navigate({ to: '/login', search: { next: href } });
  }, [caller, navigate, href, path]);
  const go = ({ to, part }: Screen) => navigate({ to, params: part === undefined ? {} : { part } } as never);
  const screens = SCREENS.filter(({ action }) => action === undefined || may(caller ?? null, action));
  useShortcuts(Object.fromEntries(screens.map((screen) => [`g ${screen.key}`, () => go(screen)])));
  const [finding, finder] = useDisclosure();
  const [showsKeys, keys] = useDisclosure();
  useHotkeys([['mod+K', finder.toggle]], []);
  const mayCreate = may(caller ?? null, 'jobs.create', { namespace: ns });
  const keep = useKeepPreferences();
  const switchZone = () => {
    const zone = nextZone(preferencesNow());
    keep({ zone });
    notify({ message: `Times are shown in ${zoneName(zone)}.` });
  };
  useShortcuts({ '?': keys.open, t: switchZone, n: () => mayCreate && navigate({ to: '/jobs/new' }) });
  const main = useFocusOnScreen(path);
  if (!caller) return null;
  return (
    <LiveProvider>
      <button type="button" className={classes.skip} onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <AppShell
        header={{ height: 52 }}
        navbar={{ width: 190, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding="md"
      >
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
              <Text fw={700} component={Link} to="/" c="inherit" visibleFrom="xs">
                Carillon
              </Text>
              <NamespacePicker />
            </Group>
            <Group gap="sm" wrap="nowrap">
              <StatusBar />
              <Button size="compact-sm" variant="default" onClick={finder.open}>
                Find
                <Kbd size="xs" ml={6} visibleFrom="sm">
                  Ctrl K
                </Kbd>
              </Button>
              <AccountMenu caller={caller} />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="xs" component="nav" aria-label="Screens">
          {screens.map((screen) => (
            <NavLink
              key={screen.label}
              label={screen.label}
              rightSection={screen.to === '/dead' ? <OpenLettersCount /> : undefined}
              active={screen.to === '/' ? path === '/' : path.startsWith(`/${screen.to.split('/')[1]}`)}
              component={Link}
              {...({
                to: screen.to,
                params: screen.part === undefined ? {} : { part: screen.part },
              } as object)}
              onClick={close}
            />
          ))}
          <StatusInMenu />
        </AppShell.Navbar>
        <AppShell.Main id="main" ref={main} tabIndex={-1} className={classes.main}>
          <Suspense fallback={<Waiting height={300} />}>
            <Outlet />
          </Suspense>
        </AppShell.Main>
      </AppShell>
      <Palette opened={finding} onClose={finder.close} />
      <KeysDialog opened={showsKeys} onClose={keys.close} />
    </LiveProvider>
  );
}

/** What had the focus may be gone with the screen before: then the next Tab leads into this one. */
function useFocusOnScreen(path: string) {
  const main = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each screen
  useEffect(() => {
    const timer = setTimeout(() => {
      if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    });
    return () => clearTimeout(timer);
  }, [path]);
  return main;
}
