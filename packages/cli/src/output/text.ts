/** Text for people: untrusted text made safe, instants, durations and counts. */

/**
 * Names, errors and results come from others and may hold control characters, which could move the cursor, change colours
 * or hide text. Each is shown as its code.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;

export function plainText(text: string): string {
  return text.replace(CONTROL, (found) => {
    if (found === '\n') return '⏎';
    if (found === '\t') return ' ';
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Keeps line breaks. */
export function plainLines(text: string): string {
  return text.split('\n').map(plainText).join('\n');
}

/** By the clock of this machine, or in UTC; with how far that is from UTC. */
export function showInstant(iso: string | null | undefined, { utc }: { utc: boolean }): string {
  if (!iso) return '';
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const utcText = at.toISOString().replace('T', ' ').replace('.000Z', 'Z');
  if (utc) return utcText;
  // Local times in Swedish are written as in ISO 8601; they have no fraction of a second.
  const [fraction = ''] = /\.\d+/.exec(utcText) ?? [];
  return `${at.toLocaleString('sv')}${fraction}${offsetText(-at.getTimezoneOffset())}`;
}

/** Of that instant: it changes with daylight saving. */
function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z';
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(size / 60)}:${two(size % 60)}`;
}

/** 850 ms, 12.3 s, 4 min 5 s, 3 h 20 min. */
export function showDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function showSpan(from: string | null, to: string | null): string {
  return from && to ? showDuration(Date.parse(to) - Date.parse(from)) : '';
}

/** `1 job`, `2 jobs`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
