/** What the schedule means: in words, its next fires by two clocks, and what changes of the clock do to it. */

import type { Json, SchedulePreview as Preview, PreviewRequest } from '@carillon/client';
import { Skeleton, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { KEPT } from '../../api/polling.ts';
import { queryKeys } from '../../api/query-keys.ts';
import { Card } from '../../ui/card.tsx';
import { nextClockChange } from '../../ui/clock-changes.ts';
import { useZone } from '../../ui/preferences.tsx';
import { clockTime, dayKey, dayName, offset } from '../../ui/time.ts';
import { Warning } from '../../ui/warning.tsx';
import { fireWords } from '../job/fire-words.ts';
import { othersText, worstOf } from '../job/others.ts';
import { capital } from '../jobs/schedule-words.ts';
import { misfireWords } from './misfire-words.ts';

interface SchedulePreviewProps {
  readonly preview: Preview | undefined;
  readonly error: unknown;
  /** What it is a preview of. */
  readonly schedule: PreviewRequest;
  readonly misfire: Json | undefined;
}

export function SchedulePreview({ preview, error, schedule, misfire }: SchedulePreviewProps) {
  return (
    <Card title="What it means">
      <div aria-live="polite">
        {error instanceof Error ? (
          <Text size="sm">{error.message}</Text>
        ) : preview === undefined ? (
          <Skeleton height={180} />
        ) : (
          <Meaning preview={preview} schedule={schedule} misfire={misfire} />
        )}
      </div>
    </Card>
  );
}

interface MeaningProps extends Pick<SchedulePreviewProps, 'schedule' | 'misfire'> {
  readonly preview: Preview;
}

function Meaning({ preview, schedule, misfire }: MeaningProps) {
  const own = useZone();
  const { description, schedule_type: type, time_zone: zone, fires, warnings, others_at: others } = preview;
  const isRecurring = type === 'CRON' || type === 'INTERVAL';
  const zones = isRecurring && zone !== own ? [zone, own] : [own];
  const clock = (at: Date) => fireWords(at, zones[0]!);
  const missed = isRecurring
    ? misfireWords(
        misfire,
        fires.map(({ at }) => at),
        clock,
      )
    : undefined;
  return (
    <Stack gap="sm">
      <Text fw={600} className="wrap-anywhere">
        {capital(description)}
      </Text>
      {warnings.map(({ at, message }) => (
        <Warning key={`${at} ${message}`}>{message}</Warning>
      ))}
      <Herd others={others} zone={isRecurring ? zone : own} />
      {type !== 'IMMEDIATE' && <Fires fires={fires.map(({ at }) => at)} zones={zones} own={own} />}
      {type === 'CRON' && <AroundClockChange schedule={schedule} zone={zone} own={own} />}
      {missed !== undefined && (
        <Text size="xs" role="note" aria-label="Missed runs">
          {missed}
        </Text>
      )}
      {isRecurring && fires.length < FIRES && (
        <Text size="xs" c="dimmed">
          No later ones: the schedule ends then.
        </Text>
      )}
    </Stack>
  );
}

/** Very many jobs at one instant wait for each other. */
function Herd({ others, zone }: { others: Preview['others_at']; zone: string }) {
  const worst = worstOf(others);
  if (!worst) return null;
  const date = new Date(worst.at);
  const clock = clockTime(date, zone, { seconds: date.getTime() % 60_000 !== 0 });
  return (
    <Warning>
      {othersText(worst, 'other jobs')} of this namespace fire at {clock}, too: they may wait for each other.
      Another minute, or a spread, keeps them apart.
    </Warning>
  );
}

/** How many are asked for. */
export const FIRES = 10;

const DAY_MS = 86_400_000;
/** On both sides of the change, for a schedule that fires every day. */
const AROUND = 3;

/** A fire that is not at the hour of the change moves, too, by every clock but its own. */
function AroundClockChange(props: { schedule: PreviewRequest; zone: string; own: string }) {
  const { schedule, zone, own } = props;
  const change = nextClockChange(zone, Date.now());
  const fromMs = change && Math.max(Date.now(), change.at.getTime() - 1.5 * DAY_MS);
  const { data: fires = [] } = useQuery({
    queryKey: queryKeys.schedule('clock-change', JSON.stringify(schedule), change?.at.toISOString()),
    queryFn: async ({ signal }) => {
      const after = new Date(fromMs!).toISOString();
      const around = await carillon.schedules.preview({ ...schedule, after, count: AROUND }, { signal });
      return around.fires.map(({ at }) => at);
    },
    enabled: change !== undefined,
    staleTime: KEPT.seldomMs,
  });
  if (!change || fires.length === 0) return null;
  return (
    <Stack gap={2}>
      <Text size="xs" fw={600}>
        Around the next clock change, {dayName(change.at, zone)} {dayKey(change.at, zone).slice(0, 4)}
      </Text>
      <Text size="xs" c="dimmed">
        {zone} goes from {change.before} to {change.after}.
      </Text>
      <Fires
        label="Fires around the next clock change"
        fires={fires}
        zones={[zone, own === zone ? 'UTC' : own]}
        own={own}
      />
    </Stack>
  );
}

interface FiresProps {
  readonly label?: string;
  readonly fires: readonly string[];
  readonly zones: readonly string[];
  readonly own: string;
}

function Fires({ label = 'Next fires', fires, zones, own }: FiresProps) {
  return (
    <Table verticalSpacing={2} fz="xs" aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          {zones.map((zone) => (
            <Table.Th key={zone}>
              {zone}
              {zone === own && zones.length > 1 ? ' (yours)' : ''}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {fires.map((at, i) => (
          <Table.Tr key={at}>
            {zones.map((zone) => (
              <Table.Td key={zone}>
                <FireText at={at} zone={zone} before={i === 0 ? undefined : fires[i - 1]} />
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** The offset is told where it changes, on a line of its own where the column is narrow. */
function FireText({ at, zone, before }: { at: string; zone: string; before: string | undefined }) {
  const date = new Date(at);
  const text = fireWords(date, zone);
  const isNew = before !== undefined && offset(new Date(before), zone) !== offset(date, zone);
  return (
    <>
      <span className="nowrap tabular">{text}</span>
      {isNew && ` ${offset(date, zone)}`}
    </>
  );
}
