/** Numbers and durations as people type them. */
import { UsageError } from '../program/usage-error.ts';

export function readCount(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${flag} must be a whole number from 0 to 999999999, and is "${text}".`);
}

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** `90`, `90s`, `15m`, `6h`, `1d`: seconds. */
export function readSeconds(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/.exec(text.trim()) ?? [];
  if (amount !== undefined) return Number(amount) * (UNITS[unit] ?? 1);
  throw new UsageError(`${flag} must be a duration such as 30s, 15m or 2h, and is "${text}".`);
}
