/** Whether the system keeps up, on every screen: start delay, what waits for longest, busy slots; and whether this page is live. */

import type { StatsNow } from '@carillon/client';
import { Group, Stack, Text, Tooltip } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { useLive } from '../api/live.tsx';
import { POLLING } from '../api/polling.ts';
import { queryKeys } from '../api/query-keys.ts';
import { useRefreshMs } from '../api/use-refresh.ts';
import { useNow } from '../ui/now.ts';
import { setPreferences, usePreferences, useZone } from '../ui/preferences.tsx';
import { LATE_MS } from '../ui/run-state.ts';
import { useShortcuts } from '../ui/shortcuts.ts';
import { clockTime, count, duration } from '../ui/time.ts';
import classes from './status-bar.module.css';
import { waitingWords } from './waiting-words.ts';

/** How the system does now, the same for everything that shows it. */
export function useNowStats(): StatsNow | undefined {
  const { ns } = useSearch({ strict: false });
  const { data } = useQuery({
    queryKey: queryKeys.now(ns),
    queryFn: ({ signal }) => carillon.stats.now(ns === undefined ? {} : { namespace: ns }, { signal }),
    refetchInterval: useRefreshMs(POLLING.nowMs),
  });
  return data;
}

/** Whether the bar at the top has room for the figures; they stand once, there or in the menu. */
function useHasRoom(): boolean {
  return useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false });
}

export function StatusBar() {
  const data = useNowStats();
  const hasRoom = useHasRoom();
  return (
    <>
      {data && hasRoom && (
        <Group gap="md" wrap="nowrap" role="status" aria-label="System">
          <Figures {...data} />
        </Group>
      )}
      <LiveMark />
    </>
  );
}

/** In the menu, where the bar has no room for it. */
export function StatusInMenu() {
  const data = useNowStats();
  const hasRoom = useHasRoom();
  if (!data || hasRoom) return null;
  return (
    <Stack gap={6} role="status" aria-label="System" className={classes.menu}>
      <Figures {...data} />
    </Stack>
  );
}

function Figures({
  start_delay_ms: delay,
  oldest_waiting_at: oldest,
  waiting_at_least: waiting,
  unoffered_handlers: unoffered,
  running,
  slots,
}: StatsNow) {
  const now = useNow();
  const waited = oldest === null ? undefined : Math.max(0, now - Date.parse(oldest));
  return (
    <>
      <Figure
        title="From a run's instant to its start, 99 of 100 runs of the last five minutes. Without retries, what was redriven or run again, runs taken over from a lost worker, and runs that waited for a slot of their job. It contains the wait for a worker that offers the handler."
        name="start delay"
        value={delay === null ? '–' : duration(delay.p99)}
        bad={delay !== null && delay.p99 > LATE_MS}
      />
      <Figure
        title={waitingWords({ waiting, unoffered, running, slots })}
        name="oldest waiting"
        value={waited === undefined ? 'none' : duration(waited)}
        bad={waited !== undefined && waited > LATE_MS}
      />
      {running !== null && slots !== null && (
        <Figure
          title="Runs on workers, of the slots of living workers"
          name="slots"
          value={`${count(running)} / ${count(slots)}`}
          bad={slots === 0}
        />
      )}
    </>
  );
}

function Figure({ title, name, value, bad }: { title: string; name: string; value: string; bad: boolean }) {
  return (
    <Tooltip label={title} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
      <Text size="xs" className="nowrap" tabIndex={0}>
        <span className="muted">{name}</span>{' '}
        <span className={bad ? classes.bad : classes.good}>
          {value}
          {bad ? ' !' : ''}
        </span>
      </Text>
    </Tooltip>
  );
}

function LiveMark() {
  const { state, asOf } = useLive();
  const zone = useZone();
  const { live } = usePreferences();
  const toggle = () => setPreferences({ live: !live });
  useShortcuts({ p: toggle });
  const words =
    state === 'open'
      ? 'live'
      : `as of ${clockTime(new Date(asOf), zone)}${state === 'paused' ? ', paused' : ', reconnecting'}`;
  return (
    <Tooltip label={live ? 'Pause updates (p)' : 'Go on with updates (p)'}>
      <button type="button" className={classes.live} aria-label={words} data-state={state} onClick={toggle}>
        <svg viewBox="0 0 10 10" width="8" height="8" aria-hidden="true">
          {state === 'open' ? (
            <circle cx="5" cy="5" r="4" fill="currentColor" />
          ) : (
            <circle cx="5" cy="5" r="3.500" fill="none" stroke="currentColor" />
          )}
        </svg>
        <span className={state === 'open' ? classes.words : undefined}>{words}</span>
      </button>
    </Tooltip>
  );
}
