/** The log of a run: what it wrote, between the lines that tell when its attempts began and how they ended. */
import { type Carillon, CarillonError, type LogLine, type LogMessage } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT } from '../errors.ts';
import { count, text, toggle, type Values } from '../flags.ts';
import { plainText } from '../output/text.ts';
import { followRun, isAlive } from './watch.ts';

export const LOG_FLAGS = {
  follow: toggle('-f, --follow', 'Go on until the run ends'),
  stderr: toggle('--stderr', 'Only what it wrote to stderr'),
  search: text('--search <text>', 'Only lines that contain this'),
  since: text('--since <time>', 'Only lines since then: 15m or 1h ago, or a time'),
  tail: count('--tail <count>', 'Only so many lines at the end'),
  raw: toggle('--raw', 'Control characters as they are, also on a terminal'),
};

export type LogOptions = Values<typeof LOG_FLAGS>;

type Line = Extract<LogMessage, { kind: 'line' }>;
type Shown = LogLine | Omit<Line, 'kind'>;

const STREAMS = { o: 'stdout', e: 'stderr', s: 'system' } as const;

/** Whether only some of what it wrote is asked for. */
export function asksForLines({ stderr, search, since, tail }: LogOptions): boolean {
  return [stderr, search, since, tail].some((value) => value !== undefined);
}

export async function showRunLog(cli: Cli, runId: string, options: LogOptions): Promise<number> {
  const client = await cli.client();
  if (options.follow && isAlive((await client.runs.get(runId)).status))
    return followLog(cli, client, runId, options);
  const lines = await linesOf(client, runId, options);
  const story = asksForLines(options) ? [] : (await client.runs.logs(runId)).logs;
  if (lines === undefined) cli.out.note('What it wrote is not shown: that needs the permission logs.read.');
  const all: Shown[] = [...story, ...(lines ?? [])];
  all.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || rankOf(a) - rankOf(b));
  for (const line of all) show(cli, line, options);
  return EXIT.ok;
}

/** Within the same millisecond: an attempt begins, it writes, it ends. */
function rankOf(line: Shown): number {
  if (!('message' in line)) return 1;
  return /^(queued|handed|attempt \d+ started)/.test(line.message) ? 0 : 2;
}

async function followLog(cli: Cli, client: Carillon, runId: string, options: LogOptions): Promise<number> {
  const signal = cli.untilInterrupted();
  const shown = new Set<string>();
  const tellStory = async () => {
    if (asksForLines(options)) return;
    for (const line of (await client.runs.logs(runId)).logs) {
      const key = `${line.at} ${line.message}`;
      if (!shown.has(key)) show(cli, line, options);
      shown.add(key);
    }
  };
  await tellStory();
  const { search, since } = options;
  try {
    const messages = client.runs.tailLogs(runId, {
      ...{ search, since, signal },
      ...(options.stderr && { stream: 'stderr' as const }),
    });
    for await (const message of messages) {
      if (message.kind === 'line') show(cli, lineOf(message), options);
      else await tellStory();
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
    cli.out.note('What it wrote is not shown: that needs the permission logs.read.');
    for await (const _ of followRun(client, runId, signal)) await tellStory();
  }
  if (signal.aborted) return EXIT.interrupted;
  await tellStory();
  return EXIT.ok;
}

/** Undefined: the caller may not read it. */
async function linesOf(
  client: Carillon,
  runId: string,
  options: LogOptions,
): Promise<Omit<Line, 'kind'>[] | undefined> {
  const { search, since, tail, stderr } = options;
  // Every stream is named, so that lines alone are answered, without those between attempts.
  const stream = stderr ? (['stderr'] as const) : Object.values(STREAMS);
  try {
    const text = await client.runs.logText(runId, { search, since, tail, stream });
    return text.split('\n').flatMap(parseLine);
  } catch (error) {
    if (isForbidden(error) && !asksForLines(options)) return undefined;
    throw error;
  }
}

function parseLine(line: string): Omit<Line, 'kind'>[] {
  const [, ms, letter, text = ''] = /^(\d+) ([oes]) (.*)$/su.exec(line) ?? [];
  if (ms === undefined) return [];
  const at = new Date(Number(ms)).toISOString();
  return [{ epoch: 0, at, stream: STREAMS[letter as keyof typeof STREAMS], text }];
}

function lineOf({ kind: _, ...line }: Line): Omit<Line, 'kind'> {
  return line;
}

function isForbidden(error: unknown): boolean {
  return error instanceof CarillonError && error.status === 403;
}

/** Control characters could move the cursor or hide text: on a terminal they are shown by their codes. */
function show({ out }: Cli, line: Shown, { raw }: Pick<LogOptions, 'raw'>): void {
  const time = out.paint.dim(out.time(line.at));
  if ('message' in line) {
    out.entry(line, `${time}  ${plainText(line.message)}`);
    return;
  }
  const { stream } = line;
  const text = raw || !out.isTerminal ? line.text : plainText(line.text);
  const { epoch: _, ...value } = line;
  const painted =
    stream === 'stderr' ? out.paint.red(text) : stream === 'system' ? out.paint.dim(text) : text;
  out.entry(value, `${time}  ${painted}`);
}
