/**
 * A job as a command: the same definition for curl, the command line and TypeScript, so that what was tried on the page can go into
 * a script. The key is read from the environment, never written into a text. Pure.
 */
import type { Json } from '@carillon/client';
import { COMMAND } from '../../ui/command-name.ts';
import { type Body, isObject } from './job-body.ts';

export interface CommandSubject {
  /** The address of the server. */
  readonly url: string;
  /** What is sent: a new job, or the change of one. */
  readonly body: Body;
  /** Of a change. */
  readonly jobId?: string | undefined;
  /** With which the command finds this server by itself, with its key. Undefined: by its address, and a key in the environment. */
  readonly commandFlags?: string | undefined;
}

export function curlCommand({ url, body, jobId }: CommandSubject): string {
  const [method, path] = jobId === undefined ? ['POST', '/api/jobs'] : ['PATCH', `/api/jobs/${jobId}`];
  return [
    `curl -X ${method} ${shellWord(`${url}${path}`)} \\`,
    `  -H "Authorization: Bearer $CARILLON_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${shellWord(JSON.stringify(body, null, 2))}`,
  ].join('\n');
}

/** By flags where every field has one, else with the definition as JSON on the standard input. */
export function cliCommand({ url, body, jobId, commandFlags }: CommandSubject): string {
  const command = `${commandFlags === undefined ? `CARILLON_URL=${shellWord(url)} ` : ''}${COMMAND} jobs`;
  const where = commandFlags ?? '';
  const flags = jobId === undefined ? flagsOf(body) : undefined;
  if (flags)
    return [`${command} create ${shellWord(String(body.name ?? ''))}${where}`, ...flags].join(' \\\n  ');
  const verb = jobId === undefined ? 'create' : `update ${jobId}`;
  return `${command} ${verb}${where} --file - <<'JSON'\n${JSON.stringify(body, null, 2)}\nJSON`;
}

export function typescriptCode({ url, body, jobId }: CommandSubject): string {
  const value = literal(body as Json, 0);
  const call =
    jobId === undefined
      ? `const { job_id } = await carillon.jobs.create(${value});`
      : `await carillon.jobs.update(${quoted(jobId)}, ${value});`;
  return [
    `import { Carillon } from '@carillon/client';`,
    '',
    `const carillon = new Carillon({ url: ${quoted(url)}, key: process.env.CARILLON_KEY });`,
    '',
    call,
  ].join('\n');
}

/** The flags that the server names are for its own machine: they are of use where the page is looked at there. */
export function flagsAt(address: URL, told: string | null | undefined): string | undefined {
  return LOOPBACK.test(address.hostname) ? (told ?? undefined) : undefined;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const PLAIN_FLAGS: Readonly<Record<string, string>> = {
  key: '--job-key',
  namespace: '--namespace',
  user_id: '--user',
  cron_expression: '--cron',
  interval: '--every',
  schedule_time: '--at',
  time_zone: '--tz',
  start_at: '--start-at',
  end_at: '--end-at',
  priority: '--priority',
  max_retries: '--retries',
  max_concurrency: '--concurrency',
  overlap: '--overlap',
};
const SECONDS_FLAGS: Readonly<Record<string, string>> = {
  timeout_seconds: '--timeout',
  start_timeout_seconds: '--start-timeout',
  spread_seconds: '--spread',
};

/** undefined: something has no flag. */
function flagsOf({ name, ...body }: Body): string[] | undefined {
  if (typeof name !== 'string' || name === '' || name.startsWith('-')) return undefined;
  const flags: string[] = [];
  for (const [field, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue;
    const found = flagsOfField(field, value, body);
    if (found === undefined) return undefined;
    flags.push(...found);
  }
  return flags;
}

function flagsOfField(field: string, value: Json, body: Body): string[] | undefined {
  const plain = PLAIN_FLAGS[field];
  if (plain !== undefined && typeof value !== 'object') return [`${plain} ${argument(String(value))}`];
  const seconds = SECONDS_FLAGS[field];
  if (seconds !== undefined && typeof value === 'number') return [`${seconds} ${value}s`];
  if (field === 'labels' && isObject(value))
    return Object.entries(value).map(([name, text]) => `--label ${argument(`${name}=${String(text)}`)}`);
  if (field === 'handler')
    return value === 'http' && urlOf(body) ? [] : [`--handler ${argument(String(value))}`];
  if (field === 'payload' && isObject(value)) return payloadFlags(value, body);
  return undefined;
}

function payloadFlags(payload: { readonly [name: string]: Json }, body: Body): string[] {
  const isCall = (body.handler === 'http' || body.handler === undefined) && urlOf(body) !== undefined;
  const { url, method, ...rest } = payload;
  if (isCall && Object.keys(rest).length === 0 && (method === undefined || typeof method === 'string'))
    return [
      `--http ${argument(String(url))}`,
      ...(method === undefined ? [] : [`--method ${argument(method)}`]),
    ];
  return [
    ...(isCall && body.handler === 'http' ? ['--handler http'] : []),
    `--payload ${argument(JSON.stringify(payload))}`,
  ];
}

function urlOf(body: Body): string | undefined {
  const url = isObject(body.payload) ? body.payload.url : undefined;
  return typeof url === 'string' && url !== '' ? url : undefined;
}

/** A value that begins with a dash would be read as a flag. */
function argument(text: string): string {
  return text.startsWith('-') ? shellWord(text, true) : shellWord(text);
}

/** One word for a POSIX shell, whatever is in it. */
export function shellWord(text: string, always = false): string {
  if (!always && /^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const INDENT = '  ';

function literal(value: Json, depth: number): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const items = Array.isArray(value)
    ? value.map((inner: Json) => literal(inner, depth + 1))
    : Object.entries(value)
        .filter(([, inner]) => inner !== undefined)
        .map(([name, inner]) => `${memberName(name)}: ${literal(inner, depth + 1)}`);
  if (items.length === 0) return `${open}${close}`;
  const inside = INDENT.repeat(depth + 1);
  return `${open}\n${items.map((item) => `${inside}${item},\n`).join('')}${INDENT.repeat(depth)}${close}`;
}

function memberName(name: string): string {
  // As a literal, __proto__ would set the prototype.
  if (name === '__proto__') return `['__proto__']`;
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}
