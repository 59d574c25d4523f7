/**
 * The `http` handler: one request, judged by its status. The call carries the run's identity, so the other side can refuse
 * what it has already done. Answers are kept up to a limit; addresses are checked after name resolution (hazard 36).
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { CALL_ERRORS, RUN_ERRORS } from '@carillon/domain';
import { type Handler, HandlerError, type RunContext } from '../handler.ts';
import type { SecretMask } from '../secret-mask.ts';
import { type Destination, EgressPolicy, type EgressRules, type OwnEndpoint } from './egress-policy.ts';
import { failedCall, type RefusedAnswer, refusedAnswer } from './http-failure.ts';
import { type HttpCall, readHttpPayload } from './http-payload.ts';
import { IdleConnections, type IdleLimits } from './idle-connections.ts';
import { jobNames } from './resolve-name.ts';
import { signatureHeaders } from './sign-request.ts';

export interface HttpHandlerOptions {
  /** Bytes of the answer that are kept as the run's result. */
  readonly responseBytesMax: number;
  readonly egress: EgressRules;
  /** Where Carillon itself and its database listen, as far as this process knows. Left out: nowhere. */
  readonly own?: () => readonly OwnEndpoint[];
  /** What signs requests of a namespace. Left out: they are signed only where the run came with a signature. */
  readonly signingSecrets?: (namespace: string) => Promise<readonly Uint8Array[]>;
  /** Of connections that are kept for the next run. */
  readonly idle?: IdleLimits;
}

export const HTTP_DEFAULTS: HttpHandlerOptions = {
  responseBytesMax: 8 * 1024,
  egress: { profile: 'open', allow: [], denyNetworks: [] },
};

interface Answer extends RefusedAnswer {
  readonly contentType: string | undefined;
  readonly truncated: boolean;
}

export function createHttpHandler(options: HttpHandlerOptions = HTTP_DEFAULTS): Handler {
  const connections = new IdleConnections(options.idle);
  const policy = new EgressPolicy(options.egress, options.own);
  return async (context) => {
    const call = readHttpPayload(context.payload);
    const secrets = await secretsOf(context, options);
    const answer = await send(call, context, {
      ...{ connections, policy, secrets },
      bytesMax: options.responseBytesMax,
    });
    const result = {
      status: answer.status,
      content_type: answer.contentType,
      body: answer.body,
      truncated: answer.truncated,
    };
    if (call.expects(answer.status)) return result;
    throw refusedAnswer(answer, result);
  };
}

/** A request that cannot be signed is not sent: the receiver would take it for a forgery. */
async function secretsOf(
  { namespace }: RunContext,
  { signingSecrets }: HttpHandlerOptions,
): Promise<readonly Uint8Array[]> {
  if (namespace === undefined || !signingSecrets) return [];
  try {
    return await signingSecrets(namespace);
  } catch (error) {
    throw new HandlerError(CALL_ERRORS.notSigned, { cause: error });
  }
}

interface Sending {
  readonly connections: IdleConnections;
  readonly policy: EgressPolicy;
  readonly secrets: readonly Uint8Array[];
  readonly bytesMax: number;
}

function send(
  call: HttpCall,
  context: RunContext,
  { connections, policy, secrets, bytesMax }: Sending,
): Promise<Answer> {
  const { url } = call;
  const assertAllowed = guardOf(call, policy);
  const literal = hostOf(url);
  if (isIP(literal) !== 0) assertAllowed(literal);
  const requestOptions: RequestOptions = {
    method: call.method,
    agent: connections.agents[url.protocol]!,
    lookup: guardedLookup(assertAllowed, context.signal),
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
      ...(context.signature ??
        signatureHeaders({ runId: context.runId, atMs: Date.now(), body: call.body }, secrets)),
      ...(call.body === undefined ? {} : { 'content-length': String(call.body.byteLength) }),
    },
  };
  return new Promise((resolve, reject) => {
    const issue = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = issue(url, requestOptions, (response) => {
      readAnswer(response, { bytesMax, mask: context.mask })
        .finally(() => connections.leave(request))
        .then(resolve, reject);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      reject(error instanceof HandlerError ? error : failedCall(`${call.method} ${url.origin}`, error));
    });
    request.once('socket', (socket) => {
      const write = () => {
        const refusal = refusalOf(socket, assertAllowed);
        if (refusal) request.destroy(refusal);
        else if (context.isHeld()) request.end(call.body);
        else request.destroy(new HandlerError(RUN_ERRORS.takenBack()));
      };
      // Finding the address and connecting take time, and nothing is written before: the last moment to ask is after them.
      if (!socket.connecting) write();
      else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', write);
    });
  });
}

/**
 * Reads to the end, so that the connection can be used again, but keeps only the beginning. It is masked here, since half a secret
 * would not be found in what is kept.
 */
async function readAnswer(
  response: IncomingMessage,
  { bytesMax, mask }: { bytesMax: number; mask: SecretMask | undefined },
): Promise<Answer> {
  const masked = mask?.stream();
  const kept: Uint8Array[] = [];
  let [size, shown, isFlood] = [0, 0, false];
  const keep = (bytes: Uint8Array | undefined) => {
    if (!bytes) return;
    if (shown < bytesMax) kept.push(bytes.subarray(0, bytesMax - shown));
    shown += bytes.byteLength;
  };
  for await (const chunk of response as AsyncIterable<Buffer>) {
    keep(masked ? masked.push(chunk) : chunk);
    size += chunk.byteLength;
    // Draining a flood just to save a connection is not worth it.
    isFlood = size > bytesMax + 1024 * 1024;
    if (isFlood) break;
  }
  keep(isFlood ? masked?.cut() : masked?.end());
  const { location } = response.headers;
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'],
    location: location === undefined ? undefined : (mask?.text(location) ?? location),
    retryAfter: response.headers['retry-after'],
    body: Buffer.concat(kept).toString('utf8'),
    truncated: isFlood || shown > bytesMax,
  };
}

export type Guard = (address: string) => void;

/** Throws for an address that the policy refuses. */
function guardOf({ url, method }: HttpCall, policy: EgressPolicy): Guard {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const to: Destination = { hostname: hostOf(url), port, method, path: url.pathname };
  return (address) => {
    const refusal = policy.refusal(address, to);
    if (refusal === undefined) return;
    throw new HandlerError(
      `calls to ${url.host} (${address}) ${CALL_ERRORS.notAllowed} ${refusal}. See http.egress and http.allow in the settings`,
      { retryable: false },
    );
  };
}

/** Without the brackets around an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Ends with the signal. */
export function guardedLookup(assertAllowed: Guard, signal: AbortSignal): LookupFunction {
  return (hostname, { all, family }, callback) => {
    const answer = async () => {
      const found = await jobNames.resolve(hostname, signal);
      for (const { address } of found) assertAllowed(address);
      const wanted = found.filter((each) => !isOfOther(each.family, family));
      if (wanted.length === 0)
        throw Object.assign(new Error(`ENOTFOUND ${hostname}`), { code: 'ENOTFOUND', hostname });
      return wanted;
    };
    answer().then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

function isOfOther(family: number, wanted: number | 'IPv4' | 'IPv6' | undefined): boolean {
  if (wanted === undefined || wanted === 0) return false;
  return family !== (wanted === 'IPv4' ? 4 : wanted === 'IPv6' ? 6 : wanted);
}

/** Of the connection as it is: one that is used again was checked for another request, perhaps of another path. */
function refusalOf({ remoteAddress }: Socket, assertAllowed: Guard): Error | undefined {
  try {
    if (remoteAddress !== undefined) assertAllowed(remoteAddress);
    return undefined;
  } catch (refusal) {
    return refusal as Error;
  }
}
