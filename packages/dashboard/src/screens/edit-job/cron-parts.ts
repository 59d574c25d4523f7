/** A cron expression field by field, for people who do not write them every day, and expressions to begin with. Pure. */
import { optionsOf } from '../../ui/options.ts';

export interface CronPart {
  readonly name: string;
  readonly hint: string;
  readonly value: string;
}

const SECOND = { name: 'Second', hint: '0–59' };
const FIVE = [
  { name: 'Minute', hint: '0–59, */15' },
  { name: 'Hour', hint: '0–23, 9-17' },
  { name: 'Day of month', hint: '1–31, L' },
  { name: 'Month', hint: '1–12, JAN' },
  { name: 'Weekday', hint: '0–7, MON-FRI' },
];

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

export const CRON_PRESETS = optionsOf({
  '*/5 * * * *': 'Every 5 minutes',
  '*/15 * * * *': 'Every 15 minutes',
  '0 * * * *': 'Every hour',
  '0 9 * * *': 'Every day at 09:00',
  '30 2 * * *': 'Every night at 02:30',
  '0 9 * * 1-5': 'Every weekday at 09:00',
  '0 8 * * 1': 'Every Monday at 08:00',
  '0 0 1 * *': 'On the first day of the month',
  '0 18 L * *': 'On the last day of the month at 18:00',
  '0 0 1 1 *': 'On 1 January',
});

/** undefined: it has neither five nor six fields. */
export function cronParts(expression: string): readonly CronPart[] | undefined {
  const text = NICKNAMES[expression.trim().toLowerCase()] ?? expression.trim();
  const values = text.split(/\s+/);
  const parts = values.length === 6 ? [SECOND, ...FIVE] : FIVE;
  if (values.length !== parts.length) return undefined;
  return parts.map((part, i) => ({ ...part, value: values[i] ?? '' }));
}

/** The expression with another value in one field. A field that is emptied means every one, and spaces would make two fields of it. */
export function withPart(expression: string, index: number, value: string): string {
  const parts = cronParts(expression);
  if (parts === undefined) return expression;
  const cleaned = value.replace(/\s+/g, '') || '*';
  return parts.map((part, i) => (i === index ? cleaned : part.value)).join(' ');
}
