/**
 * Reads a crontab the way cron does: comments, variables that count from where they stand, five time fields or a nickname,
 * a user where it is a system crontab, and % as the line break that starts the standard input. What cannot become a job
 * is refused by line, with the reason; nothing is skipped silently.
 */
export interface CrontabEntry {
  readonly line: number;
  readonly expression: string;
  /** From CRON_TZ or TZ above the line. */
  readonly timeZone: string | undefined;
  /** Of a system crontab. */
  readonly user: string | undefined;
  readonly command: string;
  readonly stdin: string | undefined;
  /** SHELL, PATH and the like, as they were at this line. */
  readonly environment: Readonly<Record<string, string>>;
  readonly mailTo: string | undefined;
}

export interface CrontabProblem {
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

export interface Crontab {
  readonly entries: readonly CrontabEntry[];
  readonly problems: readonly CrontabProblem[];
}

const NICKNAMES = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);
const VARIABLE = /^\s*([A-Za-z_]\w*|"[^"]*"|'[^']*')\s*=\s*(.*?)\s*$/;
const LINE_CHARS_MAX = 10_000;

export function parseCrontab(text: string, { system }: { system: boolean }): Crontab {
  const entries: CrontabEntry[] = [];
  const problems: CrontabProblem[] = [];
  const variables = new Map<string, string>();
  for (const [i, raw] of text.split(/\r?\n/).entries()) {
    const line = i + 1;
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const variable = VARIABLE.exec(raw);
    if (variable) {
      variables.set(unquoted(variable[1] ?? ''), unquoted(variable[2] ?? ''));
      continue;
    }
    const read = readLine(trimmed, { system });
    if ('reason' in read) problems.push({ line, text: trimmed.slice(0, 200), reason: read.reason });
    else entries.push({ line, ...read, ...fromVariables(variables) });
  }
  return { entries, problems };
}

type LineParts = Pick<CrontabEntry, 'expression' | 'user' | 'command' | 'stdin'>;

function readLine(line: string, { system }: { system: boolean }): LineParts | { reason: string } {
  if (line.length > LINE_CHARS_MAX) return { reason: 'the line is too long' };
  const nickname = /^@\w+/.exec(line)?.[0].toLowerCase();
  if (nickname === '@reboot')
    return { reason: '@reboot means a machine starting, and Carillon schedules by time: leave it in cron' };
  if (nickname !== undefined && !NICKNAMES.has(nickname)) return { reason: `${nickname} is not known` };
  // A minus in front keeps cron from logging the line; it says nothing about when it runs.
  const fields = line.replace(/^-/, '').split(/\s+/);
  const expression = nickname ?? fields.slice(0, 5).join(' ');
  const words = (nickname === undefined ? 5 : 1) + (system ? 1 : 0);
  const [, rest] = new RegExp(`^(?:\\S+\\s+){${words}}(.+)$`).exec(line) ?? [];
  if (rest === undefined) {
    const user = system ? ', a user' : '';
    return {
      reason: `it needs ${nickname === undefined ? 'five time fields' : 'a nickname'}${user} and a command`,
    };
  }
  return { expression, user: system ? fields[words - 1] : undefined, ...splitPercent(rest) };
}

/** The first % that is not escaped ends the command; what follows is its input, further ones are line breaks. */
function splitPercent(text: string): { command: string; stdin: string | undefined } {
  const [command = '', ...input] = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'));
  return { command: command.trim(), stdin: input.length > 0 ? input.join('\n') : undefined };
}

function fromVariables(
  variables: ReadonlyMap<string, string>,
): Pick<CrontabEntry, 'timeZone' | 'environment' | 'mailTo'> {
  const { CRON_TZ, TZ, MAILTO, MAILFROM: _, ...environment } = Object.fromEntries(variables);
  return { timeZone: CRON_TZ || TZ || undefined, environment, mailTo: MAILTO || undefined };
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}

/** Files of these places name a user on every line. */
export function isSystemCrontab(path: string): boolean {
  return /(^|\/)etc\/(crontab|cron\.d\/[^/]+)$/.test(path);
}
