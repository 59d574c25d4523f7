/** A month of coming fires by the clock of a zone, with the days on which clocks change: of a job, and of a schedule that is being written. */

import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { KEPT } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Card, Loaded } from '../../ui/card.tsx';
import { isForward, nextClockChange } from '../../ui/clock-changes.ts';
import { clockTime, dayKey, dayName } from '../../ui/time.ts';
import { Warning } from '../../ui/warning.tsx';
import { byDay, dayStartMs, type Fires, isMonth, monthAfter, NO_FIRES, weeksOf } from './fire-calendar.ts';
import classes from './fire-month.module.css';
import { othersText, worstOf } from './others.ts';

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
const TIMES_SHOWN_MAX = 3;

export interface FireWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly signal: AbortSignal;
}

interface FireMonthProps {
  /** What `read` depends on. */
  readonly of: readonly unknown[];
  readonly read: (window: FireWindow) => Promise<Fires>;
  readonly zone: string;
  /** `2026-11`; this month where it is left out. */
  readonly month: string | undefined;
  readonly onMonth: (month: string | undefined) => void;
  /** Where warnings stand beside it already. */
  readonly hasWarnings?: boolean;
}

export function FireMonth({ of, read, zone, month: asked, onMonth, hasWarnings = true }: FireMonthProps) {
  const today = dayKey(new Date(), zone);
  const month = isMonth(asked) ? asked : today.slice(0, 7);
  const weeks = weeksOf(month);
  const fires = useQuery({
    queryKey: queryKeys.schedule('calendar', ...of, month, zone),
    queryFn: async ({ signal }) => {
      const fromMs = Math.max(Date.now(), dayStartMs(weeks[0]![0]!, zone));
      const toMs = dayStartMs(weeks.at(-1)!.at(-1)!, zone) + 24 * 3_600_000;
      return toMs < Date.now() ? NO_FIRES : await read({ fromMs, toMs, signal });
    },
    staleTime: KEPT.seldomMs,
  });
  const title = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${month}-01T00:00:00Z`),
  );
  return (
    <Card
      title={title}
      actions={
        <Group gap={4} wrap="nowrap">
          <Button
            size="compact-xs"
            variant="default"
            aria-label="Month before"
            onClick={() => onMonth(monthAfter(month, -1))}
          >
            ‹
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => onMonth(undefined)}>
            Today
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            aria-label="Month after"
            onClick={() => onMonth(monthAfter(month, 1))}
          >
            ›
          </Button>
        </Group>
      }
    >
      <Loaded of={fires} height={420}>
        {(found) => <Month {...{ found, weeks, zone, today, month, title, hasWarnings }} />}
      </Loaded>
      <ClockChange zone={zone} weeks={weeks} onShow={onMonth} />
    </Card>
  );
}

/** Also where no fire is at the hour of the change: by every other clock, all of them move. */
function changeIn(weeks: readonly string[][], zone: string) {
  const [from, to] = [weeks[0]![0]!, weeks.at(-1)!.at(-1)!];
  return nextClockChange(zone, dayStartMs(from, zone), dayStartMs(to, zone) + 24 * 3_600_000);
}

interface ClockChangeProps {
  readonly zone: string;
  readonly weeks: readonly string[][];
  readonly onShow: (month: string) => void;
}

function ClockChange({ zone, weeks, onShow }: ClockChangeProps) {
  const shown = changeIn(weeks, zone);
  const change = shown ?? nextClockChange(zone, Date.now());
  if (!change) return null;
  const day = dayKey(change.at, zone);
  const words = `${isForward(change) ? 'forward' : 'back'} on ${dayName(change.at, zone)} ${day.slice(0, 4)}`;
  if (shown)
    return (
      <Text size="sm">
        Clocks of {zone} go {words}, from {change.before} to {change.after}: by UTC, fires after it are{' '}
        {isForward(change) ? 'earlier' : 'later'}.
      </Text>
    );
  return (
    <Text size="sm">
      Clocks of {zone} go {words}.{' '}
      <Anchor component="button" type="button" size="sm" onClick={() => onShow(day.slice(0, 7))}>
        Show that month
      </Anchor>
    </Text>
  );
}

interface MonthProps {
  readonly found: Fires;
  readonly weeks: readonly string[][];
  readonly zone: string;
  readonly today: string;
  readonly month: string;
  readonly title: string;
  readonly hasWarnings: boolean;
}

function Month({ found, weeks, zone, today, month, title, hasWarnings }: MonthProps) {
  const days = byDay(found.fires, zone);
  const change = changeIn(weeks, zone);
  const changeDay = change && dayKey(change.at, zone);
  const shown = new Set(weeks.flat());
  const told = hasWarnings ? found.warnings : [];
  const warnings = told.filter(
    ({ kind, at }) => kind === 'fixed_offset' || shown.has(dayKey(new Date(at), zone)),
  );
  const later = told.find((warning) => !warnings.includes(warning));
  return (
    <Stack gap="sm" className={classes.frame}>
      <table className={classes.calendar} aria-label={`Fires in ${title}`}>
        <thead>
          <tr>
            {WEEKDAYS.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]}>
              {week.map((day) => (
                <td
                  key={day}
                  data-outside={!day.startsWith(month) || day < today || undefined}
                  data-today={day === today || undefined}
                  data-change={day === changeDay || undefined}
                >
                  <span className={classes.date}>
                    <span>{Number(day.slice(8))}</span>
                    {day === changeDay && <span className={classes.change}>clocks change</span>}
                  </span>
                  <Day
                    fires={days.get(day) ?? []}
                    skipped={found.skipped}
                    count={found.perDay.get(day) ?? 0}
                    zone={zone}
                  />
                  <Herd
                    others={found.others.filter(({ at }) => dayKey(new Date(at), zone) === day)}
                    zone={zone}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {warnings.map(({ at, message }) => (
        <Warning key={`${at} ${message}`}>{message}</Warning>
      ))}
      {later && (
        <Text size="sm" c="dimmed">
          Later: {later.message}
        </Text>
      )}
      <Text size="xs" c="dimmed">
        Times of {zone}.
      </Text>
    </Stack>
  );
}

/** Where very many jobs fire at the same instant, it is said: they wait for each other. */
function Herd({ others, zone }: { others: Fires['others']; zone: string }) {
  const worst = worstOf(others);
  if (!worst) return null;
  const clock = clockTime(new Date(worst.at), zone, { seconds: Date.parse(worst.at) % 60_000 !== 0 });
  const words = `${othersText(worst)} at ${clock}`;
  return (
    <span
      className={classes.herd}
      title={`${othersText(worst, 'other jobs')} of this namespace fire at ${clock}, too.`}
    >
      {words}
    </span>
  );
}

interface DayProps {
  readonly fires: readonly string[];
  readonly skipped: ReadonlySet<string>;
  readonly count: number;
  readonly zone: string;
}

function Day({ fires, skipped, count, zone }: DayProps) {
  if (count === 0) return null;
  const shown = fires.slice(0, TIMES_SHOWN_MAX);
  const seconds = shown.some((at) => Date.parse(at) % 60_000 !== 0);
  const rest = count - shown.length;
  return (
    <ul className={classes.times}>
      {/* Where there is no room for times. */}
      <li className={classes.number}>{`${count.toLocaleString('en')}×`}</li>
      {shown.map((at) => (
        <li key={at} className={classes.time}>
          {skipped.has(at) ? (
            <>
              <s>{clockTime(new Date(at), zone, { seconds })}</s> skipped
            </>
          ) : (
            clockTime(new Date(at), zone, { seconds })
          )}
        </li>
      ))}
      {rest > 0 && (
        <li className={`muted ${classes.time}`}>
          {shown.length === 0
            ? `${rest.toLocaleString('en')} times`
            : `and ${rest.toLocaleString('en')} more`}
        </li>
      )}
    </ul>
  );
}
