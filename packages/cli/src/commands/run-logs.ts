/** The log of a run: what it wrote, between the lines that tell when its attempts began and how they ended. */
import { type Carillon, CarillonError, type RunWithAttempts } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { EXIT } from '../errors.ts';
import { count, text, toggle, type Values } from '../flags.ts';
import { plainText } from '../output/text.ts';
import { inOrder, isBeginning, parseLog, type ShownLine, STREAMS, type WrittenLine } from './log-order.ts';
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

/** Whether only some of what it wrote is asked for. */
export function asksForLines({ stderr, search, since, tail }: LogOptions): boolean {
  return [stderr, search, since, tail].some((value) => value !== undefined);
}

export async function showRunLog(cli: Cli, runId: string, options: LogOptions): Promise<number> {
  const client = await cli.client();
  const run = options.follow ? await client.runs.get(runId) : undefined;
  if (run && isAlive(run.status)) return followLog(cli, client, run, options);
  const written = await linesOf(client, runId, options);
  if (written === undefined) noteUnreadable(cli);
  const lines = asksForLines(options)
    ? (written ?? [])
    : inOrder((await client.runs.logs(runId)).logs, written ?? []);
  for (const line of lines) show(cli, line, options);
  return EXIT.ok;
}

function noteUnreadable({ out }: Cli): void {
  out.note('What it wrote is not shown: that needs the permission logs.read.');
}

/** First what the attempts before this one said, which are over, then everything from this one on as it comes. */
async function followLog(
  cli: Cli,
  client: Carillon,
  { run_id: runId, epoch: current, attempts }: RunWithAttempts,
  options: LogOptions,
): Promise<number> {
  const signal = cli.untilInterrupted();
  const isWhole = !asksForLines(options);
  const told = new Set<string>();
  const tell = (line: ShownLine) => {
    const key = 'message' in line ? `${line.epoch} ${line.at} ${line.message}` : undefined;
    if (key === undefined || !told.has(key)) show(cli, line, options);
    if (key !== undefined) told.add(key);
  };
  /** What is known of the attempts before this one, and how it began. */
  const tellStory = async (epoch = Number.POSITIVE_INFINITY) => {
    if (!isWhole) return;
    for (const line of inOrder((await client.runs.logs(runId)).logs, []))
      if (line.epoch < epoch || (line.epoch === epoch && 'message' in line && isBeginning(line))) tell(line);
  };
  if (isWhole && attempts.length > 1) {
    const written = (await linesOf(client, runId, options)) ?? [];
    for (const line of inOrder((await client.runs.logs(runId)).logs, written))
      if (line.epoch < current) tell(line);
  }
  await tellStory(current);
  const { search, since } = options;
  try {
    const messages = client.runs.tailLogs(runId, {
      ...{ search, since, signal },
      ...(options.stderr && { stream: 'stderr' as const }),
    });
    for await (const message of messages) {
      if (message.kind === 'end' || (isWhole && message.epoch < current)) continue;
      if (message.kind === 'attempt') await tellStory(message.epoch);
      else tell(lineOf(message));
    }
  } catch (error) {
    if (!isForbidden(error)) throw error;
    noteUnreadable(cli);
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
): Promise<WrittenLine[] | undefined> {
  const { search, since, tail, stderr } = options;
  const streams = stderr ? (['stderr'] as const) : Object.values(STREAMS);
  // Without a stream all of it is answered, with a heading before each attempt.
  const stream = asksForLines(options) ? streams : undefined;
  try {
    return parseLog(await client.runs.logText(runId, { search, since, tail, stream }));
  } catch (error) {
    if (isForbidden(error) && !asksForLines(options)) return undefined;
    throw error;
  }
}

function lineOf({ kind: _, ...line }: WrittenLine & { kind: 'line' }): WrittenLine {
  return line;
}

function isForbidden(error: unknown): boolean {
  return error instanceof CarillonError && error.status === 403;
}

/** Control characters could move the cursor or hide text: on a terminal they are shown by their codes. */
function show({ out }: Cli, line: ShownLine, { raw }: Pick<LogOptions, 'raw'>): void {
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
