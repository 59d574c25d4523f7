/** What the schedule means: in words, its next fires by two clocks, and what changes of the clock do to it. */
import type { SchedulePreview as Preview } from '@carillon/client';
import { Skeleton, Stack, Table, Text } from '@mantine/core';
import { Card } from '../../ui/card.tsx';
import { useZone } from '../../ui/preferences.tsx';
import { clockTime, dayName, offset } from '../../ui/time.ts';
import { Warning } from '../../ui/warning.tsx';
import { othersText, worstOf } from '../job/others.ts';
import { capital } from '../jobs/schedule-words.ts';

interface SchedulePreviewProps {
  readonly preview: Preview | undefined;
  readonly error: unknown;
}

export function SchedulePreview({ preview, error }: SchedulePreviewProps) {
  return (
    <Card title="What it means">
      <div aria-live="polite">
        {error instanceof Error ? (
          <Text size="sm">{error.message}</Text>
        ) : preview === undefined ? (
          <Skeleton height={180} />
        ) : (
          <Meaning preview={preview} />
        )}
      </div>
    </Card>
  );
}

function Meaning({ preview }: { preview: Preview }) {
  const own = useZone();
  const { description, schedule_type: type, time_zone: zone, fires, warnings, others_at: others } = preview;
  const isRecurring = type === 'CRON' || type === 'INTERVAL';
  const zones = isRecurring && zone !== own ? [zone, own] : [own];
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

function Fires({ fires, zones, own }: { fires: readonly string[]; zones: readonly string[]; own: string }) {
  return (
    <Table verticalSpacing={2} fz="xs" aria-label="Next fires">
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
              <Table.Td key={zone} className="nowrap">
                {fireText(at, zone, i === 0 ? undefined : fires[i - 1])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** The offset is told where it changes. */
function fireText(at: string, zone: string, before: string | undefined): string {
  const date = new Date(at);
  const seconds = date.getTime() % 60_000 !== 0;
  const text = `${dayName(date, zone)} ${clockTime(date, zone, { seconds })}`;
  const isNew = before !== undefined && offset(new Date(before), zone) !== offset(date, zone);
  return isNew ? `${text} ${offset(date, zone)}` : text;
}
