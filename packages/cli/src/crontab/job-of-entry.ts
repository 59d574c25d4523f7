/**
 * A line of a crontab as a job. A plain `curl` or `wget` of one address becomes an http job; everything else is a command
 * for the handler that runs commands. The same line makes the same job name and key, however often it is imported.
 */
import { createHash } from 'node:crypto';
import type { JsonObject, NewJob } from '@carillon/client';
import type { CrontabEntry } from './parse-crontab.ts';

export interface JobOfEntryOptions {
  /** Where the crontab has no CRON_TZ. */
  readonly timeZone: string;
  /** Runs commands. */
  readonly handler: string;
  readonly namespace: string | undefined;
}

export interface PlannedJob {
  readonly line: number;
  readonly job: NewJob;
  readonly idempotencyKey: string;
}

const NAME_CHARS_MAX = 60;

/** Lines that are equal get different keys by their number among equals. */
export function planJobs(entries: readonly CrontabEntry[], options: JobOfEntryOptions): PlannedJob[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const job = jobOfEntry(entry, options);
    const digest = createHash('sha256').update(JSON.stringify(job)).digest('hex').slice(0, 32);
    const nth = (seen.get(digest) ?? 0) + 1;
    seen.set(digest, nth);
    return { line: entry.line, job, idempotencyKey: `crontab-${digest}-${nth}` };
  });
}

export function jobOfEntry(entry: CrontabEntry, options: JobOfEntryOptions): NewJob {
  const url = plainCall(entry);
  return {
    name: nameOf(entry.command),
    cron_expression: entry.expression,
    time_zone: entry.timeZone ?? options.timeZone,
    ...(url === undefined
      ? { handler: options.handler, payload: commandPayload(entry) }
      : { handler: 'http', payload: { url } }),
    labels: { source: 'crontab' },
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    // As in cron, nothing is caught up on and nothing tried again; other than in cron, no run starts beside the last one.
    misfire: { policy: 'none' },
    overlap: 'skip',
    max_retries: 0,
  };
}

function commandPayload({ command, stdin, user, environment }: CrontabEntry): JsonObject {
  return {
    script: command,
    ...(stdin !== undefined && { stdin }),
    ...(user !== undefined && { user }),
    ...(Object.keys(environment).length > 0 && { env: environment }),
  };
}

const QUIET_FLAGS = new Set([
  '-s',
  '-S',
  '-f',
  '-L',
  '-fsS',
  '-sS',
  '-sf',
  '-fsSL',
  '-q',
  '-qO-',
  '-O',
  '-o',
  '-',
]);
const TO_NOWHERE = /\s*(\d?>{1,2}\s*(\/dev\/null|&1)|&>\s*\/dev\/null)\s*/g;

/** Only where calling the address is all that the line does: any other word of the shell keeps it a command. */
export function plainCall({ command, stdin }: Pick<CrontabEntry, 'command' | 'stdin'>): string | undefined {
  const [program = '', ...words] = command.replaceAll(TO_NOWHERE, ' ').trim().split(/\s+/);
  if (stdin !== undefined || !/^(\/usr\/bin\/)?(curl|wget)$/.test(program)) return undefined;
  const rest = words.filter((word) => !QUIET_FLAGS.has(word) && word !== '/dev/null').map(unquoted);
  const [url, ...more] = rest;
  if (url === undefined || more.length > 0 || /[\s$`|;&<>(){}\\]/.test(url.replace(/&(?=\w+=)/g, '')))
    return undefined;
  return /^https?:\/\/\S+$/.test(url) ? url : undefined;
}

/** `/usr/local/bin/backup.sh --full > /dev/null` → `backup.sh --full`. */
function nameOf(command: string): string {
  const words = command.replaceAll(TO_NOWHERE, ' ').trim().split(/\s+/);
  const named = words.map((word, i) => (i === 0 ? (word.split('/').at(-1) ?? word) : word)).join(' ');
  return named.length > NAME_CHARS_MAX ? `${named.slice(0, NAME_CHARS_MAX - 1)}…` : named || 'crontab';
}

function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/, '$2');
}
