/**
 * The `http` handler: one request, judged by its status. The call carries the run's identity, so the other side can refuse
 * what it has already done. Answers are kept up to a limit; addresses are checked after name resolution (hazard 36).
 */
import { lookup as resolveName } from 'node:dns';
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { type Handler, HandlerError, type RunContext } from '../handler.ts';
import { type HttpCall, readHttpPayload } from './http-payload.ts';

export interface HttpHandlerOptions {
  /** Bytes of the answer that are kept as the run's result. */
  readonly responseBytesMax: number;
  /** Networks no job may call, e.g. "169.254.0.0/16": where cloud machines keep their credentials. */
  readonly denyNetworks: readonly string[];
}

export const HTTP_DEFAULTS: HttpHandlerOptions = {
  responseBytesMax: 8 * 1024,
  denyNetworks: ['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::254/128', '64:ff9b::a9fe:0/112'],
};

/** Busy, or not ready yet: worth another try, although the status is of the 4xx kind. */
const RETRYABLE_4XX = new Set([408, 409, 423, 425, 429]);

interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  readonly body: string;
  readonly truncated: boolean;
}

export function createHttpHandler(options: HttpHandlerOptions = HTTP_DEFAULTS): Handler {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true }),
    'https:': new HttpsAgent({ keepAlive: true }),
  };
  const denied = blockListOf(options.denyNetworks);
  return async (context) => {
    const call = readHttpPayload(context.payload);
    const answer = await send(call, context, { agents, denied, bytesMax: options.responseBytesMax });
    const result = {
      status: answer.status,
      content_type: answer.contentType,
      body: answer.body,
      truncated: answer.truncated,
    };
    if (call.expects(answer.status)) return result;
    throw refused(answer, result);
  };
}

function refused(answer: Answer, result: unknown): HandlerError {
  const retryAfterMs = parseRetryAfterMs(answer.retryAfter);
  return new HandlerError(`the server answered ${answer.status}`, {
    // Redirects are not followed, so one that answers with them will do so again.
    retryable: answer.status >= 500 || RETRYABLE_4XX.has(answer.status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    result,
  });
}

function send(
  call: HttpCall,
  context: RunContext,
  { agents, denied, bytesMax }: { agents: Record<string, HttpAgent>; denied: BlockList; bytesMax: number },
): Promise<Answer> {
  const { url } = call;
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) assertAllowed(literal, denied);
  const requestOptions: RequestOptions = {
    method: call.method,
    agent: agents[url.protocol]!,
    lookup: guardedLookup(denied),
    signal: context.signal,
    headers: {
      'user-agent': 'carillon',
      ...call.headers,
      'idempotency-key': context.idempotencyKey,
      'carillon-job-id': context.jobId,
      'carillon-run-id': context.runId,
      'carillon-attempt': String(context.attempt),
      'carillon-epoch': String(context.epoch),
      'carillon-scheduled-at': context.scheduledAt.toISOString(),
      ...(call.body === undefined ? {} : { 'content-length': String(call.body.byteLength) }),
    },
  };
  return new Promise((resolve, reject) => {
    const issue = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = issue(url, requestOptions, (response) => {
      readAnswer(response, bytesMax).then(resolve, reject);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      reject(
        error instanceof HandlerError
          ? error
          : new HandlerError(`${call.method} ${url.origin} failed: ${error.message || error.code}`),
      );
    });
    request.once('socket', (socket) => {
      const write = () => {
        if (context.isHeld()) request.end(call.body);
        else request.destroy(new HandlerError('the run was taken back before it was called'));
      };
      // Finding the address and connecting take time, and nothing is written before: the last moment to ask is after them.
      if (!socket.connecting) write();
      else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', write);
    });
  });
}

/** Reads to the end, so that the connection can be used again, but keeps only the beginning. */
async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<Answer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (size < bytesMax) kept.push(chunk.subarray(0, bytesMax - size));
    size += chunk.byteLength;
    // Draining a flood just to save a connection is not worth it.
    if (size > bytesMax + 1024 * 1024) break;
  }
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'],
    retryAfter: response.headers['retry-after'],
    body: Buffer.concat(kept).toString('utf8'),
    truncated: size > bytesMax,
  };
}

function guardedLookup(denied: BlockList): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, options, (error, address, family) => {
      if (error) return callback(error, address as string, family);
      const addresses = Array.isArray(address) ? address : [{ address: address as unknown as string }];
      try {
        for (const entry of addresses) assertAllowed(entry.address, denied);
      } catch (refusal) {
        return callback(refusal as NodeJS.ErrnoException, address as string, family);
      }
      return callback(null, address as string, family);
    });
  };
}

function assertAllowed(address: string, denied: BlockList): void {
  if (denied.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) {
    throw new HandlerError(`calls to ${address} are not allowed here`, { retryable: false });
  }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split('/');
    const family = isIP(address ?? '') === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address ?? '', Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** Seconds, or a date. */
function parseRetryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, 24 * 3_600_000) : undefined;
}
