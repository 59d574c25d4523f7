/** What runs have written: which lines are asked for, and how a log is followed. */
import { type Moment, refuseValue } from '@carillon/domain';
import { z } from 'zod';
import { instantText } from './answer.ts';
import { readMoment } from './filter-schemas.ts';
import type { Shape } from './shape.ts';
import { anyOf, count, oneOf, textUpTo } from './values.ts';

export const LOG_STREAMS = ['stdout', 'stderr', 'system'] as const;
export type LogStream = (typeof LOG_STREAMS)[number];
const TAIL_MAX = 100_000;
const EPOCH_MAX = 999_999_999;

const fields = z.strictObject({
  attempt: count(EPOCH_MAX).optional().describe('Only this attempt, counted from 1.'),
  epoch: count(EPOCH_MAX)
    .optional()
    .describe('Only this handing-out: an attempt that was given back has several.'),
  stream: anyOf(new Map(LOG_STREAMS.map((name) => [name, name] as const)))
    .optional()
    .describe('Only lines of these streams; system: what Carillon itself says.'),
  search: textUpTo(1_000).optional().describe('Only lines that contain this text, as it is written.'),
  since: textUpTo(100).optional().describe('Only lines since then: an instant, or how long ago (15m, 1h).'),
  tail: count(TAIL_MAX).optional().describe('Only so many lines at the end, of at most 8 MiB together.'),
  download: oneOf(
    new Map([
      ['1', true],
      ['true', true],
      ['0', false],
      ['false', false],
    ]),
  )
    .optional()
    .describe('1: browsers save the answer as a file.'),
  last_event_id: textUpTo(50).optional().describe('Of a stream: continues after this message.'),
});

export const RUN_LOGS_QUERY = { schema: fields } satisfies Shape;

export interface LogFilter {
  readonly streams: readonly LogStream[] | undefined;
  readonly search: string | undefined;
  readonly since: Moment | undefined;
}

/** A position in the log of a run: after so many bytes of a part of an attempt. */
export interface LogPosition {
  readonly epoch: number;
  /** Of the parts of the attempt, which are at several servers when its worker went to another one: from 0. */
  readonly part: number;
  readonly offset: number;
}

export interface RunLogsQuery extends LogFilter {
  readonly attempt: number | undefined;
  readonly epoch: number | undefined;
  readonly tail: number | undefined;
  readonly download: boolean;
  readonly lastEventId: string | undefined;
  /** The caller named something that only the text has. */
  readonly asksForText: boolean;
}

export function toRunLogsQuery(read: z.output<typeof fields>): RunLogsQuery {
  const { attempt, epoch, stream, search, since, tail, download = false, last_event_id } = read;
  return {
    ...{ attempt, epoch, streams: stream, search, tail, download, lastEventId: last_event_id },
    since: since === undefined ? undefined : readMoment(since, 'since'),
    asksForText: Object.keys(read).length > 0,
  };
}

export function readLogPosition(given: string | undefined): LogPosition | undefined {
  if (given === undefined || given === '') return undefined;
  const [, epoch, part, offset] = /^(\d{1,9}):(\d{1,9}):(\d{1,15})$/.exec(given) ?? [];
  if (offset !== undefined) return { epoch: Number(epoch), part: Number(part), offset: Number(offset) };
  return refuseValue(
    'Last-Event-ID',
    'Last-Event-ID must be the id of a message of this log, such as 1:0:2048.',
  );
}

export interface FollowedLine extends LogPosition {
  readonly atMs: number;
  readonly stream: LogStream;
  readonly text: string;
}

export type LogMessage =
  | ({ readonly kind: 'line' } & FollowedLine)
  | { readonly kind: 'attempt'; readonly epoch: number; readonly attempt: number | undefined }
  | { readonly kind: 'end'; readonly status: string }
  /** Nothing new: keeps the connection alive. */
  | { readonly kind: 'idle' };

/** What a message says, and where a stream goes on behind it. No data: nothing is new. */
export function logFacts(message: LogMessage): { readonly id?: string; readonly data?: object } {
  switch (message.kind) {
    case 'idle':
      return {};
    case 'attempt': {
      const { epoch, attempt = null } = message;
      return { id: `${epoch}:0:0`, data: { epoch, attempt } };
    }
    case 'line': {
      const { epoch, part, offset, atMs, stream, text } = message;
      return { id: `${epoch}:${part}:${offset}`, data: { epoch, at: instantText(atMs), stream, text } };
    }
    case 'end':
      return { data: { status: message.status } };
  }
}

/** A message of the stream. The text is in JSON: a line may hold a carriage return, which would end the field. */
export function logMessage(message: LogMessage): string {
  const { id, data } = logFacts(message);
  if (data === undefined) return ': still here\n\n';
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${place}event: ${message.kind}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Where a large result of a run is read. */
export function resultUrlOf(runId: string): string {
  return `/api/runs/${runId}/result`;
}

/** Where the log of a run is read. */
export function logUrlOf(runId: string): string {
  return `/api/runs/${runId}/logs`;
}
