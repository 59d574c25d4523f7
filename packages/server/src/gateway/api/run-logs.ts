/** The log of a run: its story in JSON, and what it wrote as text or as a stream. An exception: one path has three kinds of answers. */
import { Readable } from 'node:stream';
import {
  EXAMPLES,
  logLines,
  logMessage,
  RUN_LOGS_QUERY,
  type RunLogsQuery,
  readLogPosition,
  rpc,
  runLogsAnswer,
  toRunLogsQuery,
} from '@carillon/contract';
import { type Caller, Refusal } from '@carillon/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FollowedLog, SearchedLog } from '../../operations/run-logs.ts';
import { type LogPart, readParts } from '../../run-logs/run-logs.ts';
import {
  type ApiContext,
  type Call,
  type Operation,
  operation,
  type Reply,
  type RestCall,
  reading,
} from './operation.ts';

const STREAM_TYPE = 'text/event-stream';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const RETRY_MS = 1_000;
const BUFFERED_MESSAGES = 64;
const STREAM_EXAMPLE = [
  'id: 1:34\nevent: line\ndata: {"epoch":1,"at":"2030-01-01T09:00:00.000Z","stream":"stdout","text":"resized 40 of 100"}\n\n',
  'event: end\ndata: {"status":"SUCCESS"}\n\n',
].join('');

export function runLogOperationsOf(context: ApiContext): Operation[] {
  const { operations } = context;
  return [
    operation({
      method: 'GET',
      path: '/runs/{id}/logs',
      rpc: { method: rpc.JobService.method.getRunLogs, access: 'runs.read', names: { logs: 'lines' } },
      calls: [rpc.JobService.method.watchRunLog],
      access: ['runs.read', 'logs.read'],
      tag: 'runs',
      summary: 'Read or follow the log of a run',
      description: [
        'With `Accept: text/plain` (or `*/*`, as curl sends) the answer is what the run wrote, attempt by attempt: each line is `<milliseconds> o|e|s text`, for',
        'stdout, stderr and system, and a line that begins with # stands before each attempt. `Range` reads a part of it. With `Accept: text/event-stream` it is a stream that',
        'begins with the first line and goes on until the run has ended: messages `line`, `attempt` and `end`. Both need logs.read. With',
        '`Accept: application/json`, or with none and no parameters, it is the story of the run: when its attempts began and how they ended; this needs runs.read.',
      ].join(' '),
      subject: 'run',
      query: reading(RUN_LOGS_QUERY, toRunLogsQuery),
      headers: {
        accept: {
          description:
            'text/plain for the text, text/event-stream to follow it, application/json for the story.',
          example: 'text/plain',
        },
        range: { description: 'A part of the text.', example: 'bytes=0-1023' },
        'last-event-id': {
          description: 'Of a stream: the id of the last message you saw.',
          example: '1:0:2048',
        },
      },
      answers: {
        200: {
          description: 'The lines, in the order things happened.',
          schema: runLogsAnswer,
          example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.runId, logs: EXAMPLES.logs },
          otherTypes: {
            'text/plain': {
              schema: z.string().describe('What the run wrote.'),
              example: '# attempt 1, epoch 1, SUCCESS\n1893488400000 o resized 40 of 100\n',
            },
            [STREAM_TYPE]: {
              schema: z.string().describe('Server-Sent Events; "data" of each is JSON.'),
              example: STREAM_EXAMPLE,
            },
          },
        },
        206: {
          description: 'The part of the text that Range asks for.',
          contentType: 'text/plain',
          schema: z.string(),
          example: 'resized',
        },
      },
      handle: async (call) => {
        const { caller, id, query } = call;
        const { request, reply } = restOf(call);
        const kind = request ? kindOf(request, query) : 'story';
        reply?.header('vary', 'accept');
        if (request === undefined || reply === undefined || kind === 'story') {
          const { latest, attempts } = await operations.getRun(caller, id);
          return { body: { job_id: latest.jobId, run_id: id, logs: logLines(attempts) } };
        }
        if (kind === 'stream') return await followed(context, { call, request, reply });
        if (query.download) reply.header('content-disposition', `attachment; filename="run-${id}.log"`);
        const gone = goneSignal(reply);
        const found = await operations.readRunLog(caller, id, query);
        reply.type(TEXT_TYPE);
        if (found.search) return linesReply(await found.search(gone), { request, gone });
        return partsReply(found.parts, { request, reply });
      },
    }),
  ];
}

/** A call of RPC has no request. */
function restOf(call: Call<RunLogsQuery>): Partial<Pick<RestCall, 'request' | 'reply'>> {
  return call as Partial<RestCall>;
}

function kindOf(
  { headers, method }: FastifyRequest,
  { asksForText }: RunLogsQuery,
): 'story' | 'text' | 'stream' {
  const accept = headers.accept?.trim() ?? '';
  // A stream in answer to HEAD would never end.
  if (accept.includes(STREAM_TYPE) && method !== 'HEAD') return 'stream';
  if (accept.includes('application/json')) return 'story';
  return accept === '' && !asksForText ? 'story' : 'text';
}

/** Aborts when the connection is closed, or the answer was sent. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  else raw.once('close', () => gone.abort());
  return gone.signal;
}

function linesReply(
  { lines, close }: SearchedLog,
  { request, gone }: { request: FastifyRequest; gone: AbortSignal },
): Reply {
  const isHead = request.method === 'HEAD';
  if (gone.aborted || isHead) close();
  else gone.addEventListener('abort', close, { once: true });
  return { body: isHead ? '' : Readable.from(joined(lines)).once('close', close) };
}

function partsReply(
  parts: readonly LogPart[],
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Reply {
  const isHead = request.method === 'HEAD';
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  reply.header('accept-ranges', 'bytes');
  const range = rangeOf(request.headers.range, bytes);
  if (range === 'none') {
    reply.header('content-range', `bytes */${bytes}`);
    throw new Refusal('range_not_satisfiable', `The log has ${bytes} bytes.`, { field: 'Range' });
  }
  const { from, to } = range ?? { from: 0, to: bytes };
  if (range) reply.header('content-range', `bytes ${from}-${to - 1}/${bytes}`);
  reply.header('content-length', String(to - from));
  const status = range ? 206 : 200;
  return { status, body: isHead ? '' : Readable.from(readParts(parts, { from, bytes: to - from })) };
}

/** One range of bytes. Undefined: the whole, also where several are asked for or none is meant. none: it begins after the end. */
function rangeOf(
  header: string | undefined,
  bytes: number,
): { readonly from: number; readonly to: number } | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '')
    return Number(last) === 0 || bytes === 0
      ? 'none'
      : { from: Math.max(0, bytes - Number(last)), to: bytes };
  const from = Number(first);
  const to = last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= bytes ? 'none' : { from, to };
}

/** Lines in pieces that are worth sending. */
async function* joined(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let waiting: string[] = [];
  let chars = 0;
  for await (const line of lines) {
    waiting.push(line);
    chars += line.length;
    if (chars < 64 * 1_024) continue;
    yield Buffer.from(waiting.join(''));
    waiting = [];
    chars = 0;
  }
  if (waiting.length > 0) yield Buffer.from(waiting.join(''));
}

interface Followed {
  readonly call: Call<RunLogsQuery>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function followed(
  { operations, authenticate, stopping }: ApiContext,
  { call, request, reply }: Followed,
): Promise<Reply> {
  const { caller, id, query } = call;
  const header = [request.headers['last-event-id']].flat()[0];
  const after = readLogPosition(header || query.lastEventId);
  // The body is closed when its reading has ended, which is to end before.
  const signal = AbortSignal.any([stopping, goneSignal(reply)]);
  const recognise = (): Promise<Caller> => authenticate(request);
  const log = await operations.followRunLog(caller, id, { ...query, after, recognise, signal });
  const body = Readable.from(sse(log.items), { highWaterMark: BUFFERED_MESSAGES });
  const end = () => body.destroy();
  stopping.addEventListener('abort', end, { once: true });
  body.once('close', () => {
    log.close();
    stopping.removeEventListener('abort', end);
  });
  // Asks proxies not to collect the answer before they pass it on.
  reply.type(STREAM_TYPE).header('x-accel-buffering', 'no').header('cache-control', 'no-store, no-transform');
  return { body };
}

async function* sse(messages: AsyncIterable<FollowedLog>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n: connected\n\n`;
  for await (const message of messages) yield logMessage(message);
}
