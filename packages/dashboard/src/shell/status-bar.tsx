/** Whether the system keeps up, on every screen: start delay, what waits for longest, busy slots; and whether this page is live. */
import type { StatsNow } from '@carillon/client';
import { Group, Text, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { carillon } from '../api/carillon.ts';
import { useLive } from '../api/live.tsx';
import { useNow } from '../ui/now.ts';
import { setPreferences, usePreferences, useZone } from '../ui/preferences.tsx';
import { useShortcuts } from '../ui/shortcuts.ts';
import { clockTime, count, duration } from '../ui/time.ts';
import classes from './status-bar.module.css';
import { waitingWords } from './waiting-words.ts';

const REFRESH_MS = 5_000;
/** What the product promises: a start at most 2 s after its instant. */
const LATE_MS = 2_000;

/** How the system does now, the same for everything that shows it. */
export function useNowStats(): StatsNow | undefined {
  const { ns } = useSearch({ strict: false });
  const { data } = useQuery({
    queryKey: ['stats', 'now', ns],
    queryFn: ({ signal }) => carillon.stats.now(ns === undefined ? {} : { namespace: ns }, { signal }),
    refetchInterval: REFRESH_MS,
  });
  return data;
}

export function StatusBar() {
  const now = useNow();
  const data = useNowStats();
  return (
    <>
      {data && <Figures now={now} {...data} />}
      <LiveMark />
    </>
  );
}

function Figures({
  now,
  start_delay_ms: delay,
  oldest_waiting_at: oldest,
  waiting_at_least: waiting,
  unoffered_handlers: unoffered,
  running,
  slots,
}: StatsNow & { now: number }) {
  const waited = oldest === null ? undefined : Math.max(0, now - Date.parse(oldest));
  return (
    <Group gap="md" wrap="nowrap" visibleFrom="md" role="status" aria-label="System">
      <Figure
        title="From a run's instant to its start, 99 of 100 runs of the last five minutes"
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
    </Group>
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
