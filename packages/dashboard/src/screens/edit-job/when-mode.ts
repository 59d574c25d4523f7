/**
 * The four kinds of schedules of the form. Changing the kind keeps what was typed for the others, and gives the server only the
 * fields of the one that is chosen. Pure.
 */
import type { Json } from '@carillon/client';
import type { Body } from './job-body.ts';
import { SCHEDULE_FIELDS, scheduleTypeOf } from './job-body.ts';

export const WHEN_MODES = [
  { value: 'IMMEDIATE', label: 'Now' },
  { value: 'FUTURE', label: 'At a time' },
  { value: 'CRON', label: 'Cron' },
  { value: 'INTERVAL', label: 'Interval' },
] as const;
export type WhenMode = (typeof WHEN_MODES)[number]['value'];

const RECURRING = ['time_zone', 'start_at', 'end_at', 'daylight_saving', 'spread_seconds'];
const FITTING: Record<WhenMode, readonly string[]> = {
  IMMEDIATE: [],
  FUTURE: ['schedule_time', 'time_zone'],
  CRON: ['cron_expression', ...RECURRING],
  INTERVAL: ['interval', 'frequency', 'schedule_time', ...RECURRING],
};

/** What was typed for each kind, while the form is open. */
export type Remembered = Partial<Record<WhenMode, Body>>;

export function changeMode(
  body: Body,
  { to, remembered, zone, soon }: { to: WhenMode; remembered: Remembered; zone: string; soon: string },
): { body: Body; remembered: Remembered } {
  const from = scheduleTypeOf(body);
  const kept = { ...remembered, [from]: scheduleFieldsOf(body) };
  const others = Object.fromEntries(
    Object.entries(body).filter(
      ([name]) => !(SCHEDULE_FIELDS as readonly string[]).includes(name) && name !== 'schedule_type',
    ),
  );
  const defaults: Record<WhenMode, Body> = {
    IMMEDIATE: {},
    FUTURE: { schedule_time: soon, time_zone: zone },
    CRON: { cron_expression: '0 9 * * *', time_zone: zone },
    INTERVAL: { interval: '15m' },
  };
  // What fits both kinds moves along, such as the zone.
  const shared = Object.fromEntries(
    Object.entries(scheduleFieldsOf(body)).filter(
      ([name]) => name !== 'schedule_time' && FITTING[to].includes(name) && FITTING[from].includes(name),
    ),
  );
  return { body: { ...others, ...(kept[to] ?? defaults[to]), ...shared }, remembered: kept };
}

export function scheduleFieldsOf(body: Body): Body {
  const found: Record<string, Json> = {};
  for (const name of SCHEDULE_FIELDS) {
    const value = body[name];
    if (value !== undefined && value !== null) found[name] = value;
  }
  return found;
}
