/** An instant: relative within a day, with the whole truth on hover and focus. */
import { Tooltip } from '@mantine/core';
import { useNow } from './now.ts';
import { useZone } from './preferences.tsx';
import { absolute, clockTime, dayName, duration, offset, relative } from './time.ts';

export function Instant({
  at,
  kind = 'relative',
}: {
  at: string | null | undefined;
  /** exact: absolute, to the millisecond. */
  kind?: 'relative' | 'absolute' | 'exact';
}) {
  const zone = useZone();
  const now = useNow();
  if (at === null || at === undefined) return <span className="muted">–</span>;
  const date = new Date(at);
  const whole = `${absolute(date, zone, { millis: true })} ${offset(date, zone)} (${zone})`;
  const words =
    kind !== 'relative'
      ? absolute(date, zone, { millis: kind === 'exact' })
      : (relative(date, now) ?? `${dayName(date, zone)} ${clockTime(date, zone, { seconds: false })}`);
  return (
    <Tooltip label={whole} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} tabIndex={0} className="nowrap">
        {words}
      </time>
    </Tooltip>
  );
}

/** From one instant to another, or to now while it goes on. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  const now = useNow();
  if (from === null) return <span className="muted">–</span>;
  const ms = (to === null ? now : Date.parse(to)) - Date.parse(from);
  return <span className="nowrap tabular">{duration(Math.max(0, ms))}</span>;
}
