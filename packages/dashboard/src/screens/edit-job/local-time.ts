/** Instants of a body as the browser's input for dates and times shows them: the wall-clock time in the zone of the schedule. Pure. */
import type { Json } from '@carillon/client';
import { absolute } from '../../ui/time.ts';

const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/;

/** Empty where it is no instant that this page understands: it is then edited as JSON. */
export function toLocalInput(value: Json | undefined, zone: string): string {
  if (typeof value === 'number')
    return toLocalInput(new Date(value < 1e11 ? value * 1_000 : value).toISOString(), zone);
  if (typeof value !== 'string') return '';
  const text = value.trim().replace(' ', 'T');
  if (LOCAL.test(text)) return text;
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return '';
  return absolute(at, zone).replace(' ', 'T').replace(/:00$/, '');
}

/** The next full hour in the zone, at least half an hour away. */
export function soonInput(zone: string, now: number): string {
  const hour = Math.ceil((now + 30 * 60_000) / 3_600_000) * 3_600_000;
  return toLocalInput(new Date(hour).toISOString(), zone);
}
