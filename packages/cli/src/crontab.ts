/**
 * Reads a crontab the way cron does: comments, variables that apply to the lines below, five time fields or a nickname, a
 * user in a system crontab, and % as the line break that starts the standard input. Then makes a job of each line. What
 * cannot become a job is reported by line, with the reason; nothing is skipped silently.
 */
import { createHash } from 'node:crypto';
import type { JsonObject, NewJob } from '@carillon/client';
import { nameOfLine } from './crontab-names.ts';
import { callOfCommand } from './curl.ts';

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

const NICKNAMES = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);
const VARIABLE = /^\s*([A-Za-z_]\w*|"[^"]*"|'[^']*')\s*=\s*(.*?)\s*$/;
const LINE_CHARS_MAX = 10_000;
/** Cron has no time limit, and that of other jobs is short: a day lets every job of a crontab end. */
const TIMEOUT_SECONDS = 86_400;

export function parseCrontab(
  text: string,
  { system }: { system: boolean },
): { entries: readonly CrontabEntry[]; problems: readonly CrontabProblem[] } {
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
  // A minus in front only keeps cron from logging the line.
  const fields = line.replace(/^-/, '').split(/\s+/);
  const expression = nickname ?? fields.slice(0, 5).join(' ');
  const words = (nickname === undefined ? 5 : 1) + (system ? 1 : 0);
  const [, rest] = new RegExp(`^(?:\\S+\\s+){${words}}(.+)$`).exec(line) ?? [];
  const when = nickname === undefined ? 'five time fields' : 'a nickname';
  if (rest === undefined) return { reason: `it needs ${when}${system ? ', a user' : ''} and a command` };
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

/** The lines of these files name a user. */
export function isSystemCrontab(path: string): boolean {
  return /(^|\/)etc\/(crontab|cron\.d\/[^/]+)$/.test(path);
}

export interface JobOfEntryOptions {
  /** For lines without CRON_TZ. */
  readonly timeZone: string;
  /** The handler that runs commands. */
  readonly handler: string;
  readonly namespace: string | undefined;
}

export interface PlannedJob {
  readonly line: number;
  readonly job: NewJob;
  readonly idempotencyKey: string;
  /** What is otherwise than in cron: a call that stays a command and why, or what a call leaves out. */
  readonly note?: string;
}

/**
 * A `curl` or `wget` that calls one address becomes an http job; every other line a job for the handler that runs commands.
 * The same line has the same name and key each time; equal lines have different keys, by their number among equals.
 */
export function planJobs(entries: readonly CrontabEntry[], options: JobOfEntryOptions): PlannedJob[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const { job, note } = jobOfEntry(entry, options);
    const digest = createHash('sha256').update(JSON.stringify(job)).digest('hex').slice(0, 32);
    const nth = (seen.get(digest) ?? 0) + 1;
    seen.set(digest, nth);
    const idempotencyKey = `crontab-${digest}-${nth}`;
    return { line: entry.line, job, idempotencyKey, ...(note !== undefined && { note }) };
  });
}

function jobOfEntry(
  entry: CrontabEntry,
  options: JobOfEntryOptions,
): { job: NewJob; note?: string | undefined } {
  const read = callOfCommand(entry.command, { hasInput: entry.stdin !== undefined });
  const call = read && 'call' in read ? read.call : undefined;
  const job: NewJob = {
    name: nameOfLine(entry.command, call?.payload),
    cron_expression: entry.expression,
    time_zone: entry.timeZone ?? options.timeZone,
    ...(call
      ? { handler: 'http', payload: call.payload }
      : { handler: options.handler, payload: commandPayload(entry) }),
    labels: { source: 'crontab' },
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    // As in cron, missed occurrences are not caught up and failures not retried; unlike in cron, runs do not overlap.
    misfire: { policy: 'none' },
    overlap: 'skip',
    max_retries: call?.maxRetries ?? 0,
    timeout_seconds: call?.timeoutSeconds ?? TIMEOUT_SECONDS,
  };
  const reason = read && 'reason' in read ? read.reason : undefined;
  return { job, note: call ? call.note : noteOfCommand(entry, reason) };
}

/** As cron does it: the shell that SHELL names, else sh; nothing to read where nothing follows a %. */
function commandPayload({ command, stdin = '', environment }: CrontabEntry): JsonObject {
  const { SHELL = '/bin/sh', ...env } = environment;
  return {
    interpreter: SHELL.slice(SHELL.lastIndexOf('/') + 1),
    script: command,
    stdin,
    ...(Object.keys(env).length > 0 && { env }),
  };
}

/** What is otherwise than in cron. */
function noteOfCommand({ user }: CrontabEntry, reason: string | undefined): string | undefined {
  const notes = [
    ...(reason === undefined ? [] : [`it stays a command: ${reason}`]),
    ...(user === undefined ? [] : [`it runs as the user of script.user, not as ${user}`]),
  ];
  return notes.length === 0 ? undefined : notes.join('; ');
}
