/** Ctrl K: screens, jobs by name, anything by its id, workers, people, and what can be done. */

import { Modal, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { carillon } from '../api/carillon.ts';
import { useKeepPreferences } from '../api/kept-preferences.ts';
import { queryKeys } from '../api/query-keys.ts';
import { may, useCaller } from '../api/session.ts';
import { PARTS } from '../screens/settings/parts.ts';
import { setPreferences, usePreferences } from '../ui/preferences.tsx';
import { useViews } from '../views/use-views.ts';
import { type Entry, useErrorSearch, useFailureEntries } from './find-errors.ts';
import classes from './palette.module.css';

const TYPED_MS = 120;

export function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      withCloseButton={false}
      size="lg"
      padding={0}
      yOffset="12vh"
      title={undefined}
      attributes={{ content: { 'aria-label': 'Find anything' } }}
    >
      {opened && <Finder onClose={onClose} />}
    </Modal>
  );
}

function Finder({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [wanted] = useDebouncedValue(typed.trim(), TYPED_MS);
  const [at, setAt] = useState(0);
  const fixed = useFixedEntries().filter(({ title }) =>
    title.toLowerCase().includes(typed.trim().toLowerCase()),
  );
  const asked = typed.trim();
  const { data, isPlaceholderData, error } = useQuery({
    queryKey: queryKeys.search(wanted),
    queryFn: ({ signal }) => carillon.search.find(wanted, { signal }),
    enabled: wanted !== '',
  });
  // What was found for another text is not shown: Enter would open it.
  const isAnswered =
    asked === '' || error !== null || (wanted === asked && data !== undefined && !isPlaceholderData);
  const found = useFoundEntries(asked !== '' && isAnswered ? (data?.hits ?? []) : []);
  const failures = useFailureEntries(isAnswered ? asked : '');
  // What is typed names no screen and no action.
  const searches = useErrorSearch(fixed.length === 0 ? asked : '');
  const known = asked === '' ? fixed : [...found, ...failures, ...fixed];
  const entries = isAnswered ? [...known, ...searches] : known;
  const index = Math.min(at, Math.max(0, entries.length - 1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question begins at the first answer
  useEffect(() => setAt(0), [typed]);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.go();
  };
  // An id that was pasted, and Enter before the answer is there.
  const [isEntered, setEntered] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the answer has come
  useEffect(() => {
    if (isEntered && isAnswered) open(entries[0]);
  }, [isEntered, isAnswered]);
  return (
    <div>
      <TextInput
        data-autofocus
        variant="unstyled"
        size="md"
        px="md"
        py={4}
        aria-label="Find jobs, runs, workers, screens"
        placeholder="A job, an id, an error, a screen, an action"
        role="combobox"
        aria-expanded
        aria-controls="palette-entries"
        aria-activedescendant={entries[index] && `palette-${index}`}
        value={typed}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setEntered(false);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(index + 1, entries.length - 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(index - 1, 0));
          else if (event.key === 'Enter') isAnswered ? open(entries[index]) : setEntered(true);
          else return;
          event.preventDefault();
        }}
      />
      <div id="palette-entries" role="listbox" aria-label="Found" className={classes.entries}>
        {entries.map((entry, each) => (
          <div
            key={entry.key}
            id={`palette-${each}`}
            role="option"
            aria-selected={each === index}
            tabIndex={-1}
            className={classes.entry}
            onClick={() => open(entry)}
            onMouseMove={() => setAt(each)}
          >
            <span className="ellipsis">{entry.title}</span>
            <Text span size="xs" c="dimmed" className="ellipsis">
              {entry.detail}
            </Text>
          </div>
        ))}
      </div>
      {known.length === 0 && (
        <Text size="sm" c="dimmed" p="md">
          {!isAnswered
            ? 'Looking …'
            : 'Nothing is called so. Ids can be pasted as they are, or only their beginning.'}
        </Text>
      )}
    </div>
  );
}

const SCHEMES = [
  ['dark', 'Dark colours'],
  ['light', 'Light colours'],
  ['auto', 'Colours of the system'],
] as const;

/** What the screen below offers at its top, such as Pause of a job, as far as it is allowed. */
function pageActions(): readonly Entry[] {
  const buttons = document.querySelectorAll<HTMLElement>('[data-page-actions] :is(button, a)');
  return [...buttons]
    .filter((button) => button.ariaDisabled !== 'true')
    .map((button, index) => {
      const title = button.textContent ?? '';
      return { key: `here ${index}`, title, detail: 'action · here', go: () => button.click() };
    });
}

function useFixedEntries(): readonly Entry[] {
  const navigate = useNavigate();
  const caller = useCaller();
  const { live } = usePreferences();
  const keep = useKeepPreferences();
  const { views } = useViews();
  const screen = (title: string, to: string, keys: string, search = {}): Entry => ({
    ...{ key: `screen ${title}`, title, detail: `screen · ${keys}` },
    go: () => navigate({ to, search } as never),
  });
  return [
    screen('Overview', '/', 'g o'),
    screen('Jobs', '/jobs', 'g j'),
    screen('Runs', '/runs', 'g r'),
    {
      key: 'failed',
      title: 'What failed in the last hour',
      detail: 'runs',
      go: () => navigate({ to: '/runs', search: { status: 'FAILED,TIMED_OUT', since: '1h' } }),
    },
    ...views.map(
      ({ view_id: id, screen: list, name, query }): Entry => ({
        ...{ key: `view ${id}`, title: name, detail: `view · ${list}` },
        go: () => navigate({ to: `/${list}`, search: query } as never),
      }),
    ),
    screen('Dead letters', '/dead', 'g d'),
    ...(may(caller, 'workers.read') ? [screen('Workers', '/workers', 'g w')] : []),
    screen('Settings', '/settings/me', 'g s'),
    ...(may(caller, 'jobs.create') ? [screen('New job', '/jobs/new', 'action')] : []),
    ...PARTS.filter(({ action }) => action === undefined || may(caller, action)).map(({ name, label }) =>
      screen(label, `/settings/${name}`, 'settings'),
    ),
    ...(may(caller, 'signing_keys.read') ? [screen('Signing keys', '/settings/namespaces', 'settings')] : []),
    ...(may(caller, 'users.manage')
      ? [screen('Invite somebody', '/settings/users', 'action', { open: 'invite' })]
      : []),
    ...(may(caller, 'dead_letters.redrive')
      ? [screen('Redrive dead letters', '/dead', 'action', { open: 'redrive' })]
      : []),
    ...pageActions(),
    ...SCHEMES.map(([scheme, title]) => ({
      ...{ key: scheme, title, detail: 'action', go: () => keep({ scheme }) },
    })),
    {
      key: 'live',
      title: live ? 'Pause live updates' : 'Go on with live updates',
      detail: 'action · p',
      go: () => setPreferences({ live: !live }),
    },
    { key: 'utc', title: 'Show times in UTC', detail: 'action', go: () => keep({ zone: 'UTC' }) },
    {
      key: 'local',
      title: 'Show times in the zone of this browser',
      detail: 'action',
      go: () => keep({ zone: 'local' }),
    },
  ];
}

interface Hit {
  readonly kind: 'job' | 'run' | 'worker' | 'user' | 'namespace';
  readonly id: string;
  readonly title: string;
  readonly detail: string;
  readonly namespace: string | null;
}

function useFoundEntries(hits: readonly Hit[]): readonly Entry[] {
  const navigate = useNavigate();
  const { ns } = useSearch({ strict: false });
  return hits.map(({ kind, id, title, detail, namespace }) => ({
    key: `${kind} ${id}`,
    title,
    detail: [kind, detail, namespace].filter(Boolean).join(' · '),
    go: () => {
      // What is found may be of another namespace than the chosen one.
      const search = ns === undefined || namespace === null ? {} : { ns: namespace };
      if (kind === 'job') return navigate({ to: '/jobs/$jobId', params: { jobId: id }, search });
      if (kind === 'run') return navigate({ to: '/runs/$runId', params: { runId: id }, search });
      if (kind === 'worker') return navigate({ to: '/workers/$workerId', params: { workerId: id } });
      if (kind === 'namespace') return navigate({ to: '/jobs', search: { ns: id } });
      return navigate({ to: '/settings/$part', params: { part: 'users' } });
    },
  }));
}
