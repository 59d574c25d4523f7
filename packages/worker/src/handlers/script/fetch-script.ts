/**
 * Scripts from https addresses. What is fetched must have the digest that the job names, so where it came from need not be trusted;
 * it is kept by that digest, and not fetched again while it is used. Addresses are judged like those of http jobs (hazard 36).
 */
import { createHash } from 'node:crypto';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { SCRIPT_ERRORS } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';
import type { EgressPolicy } from '../egress-policy.ts';
import { causeOf } from '../http-failure.ts';
import { guardedLookup } from '../http-handler.ts';
import { KeptScripts } from './kept-scripts.ts';

export const SCRIPT_BYTES_MAX = 16 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 30_000;

export interface ScriptFetcherOptions {
  /** Where fetched scripts are kept by their digest. Undefined: they are fetched for every run. */
  readonly cacheFolder: string | undefined;
  readonly policy: EgressPolicy;
  /** Certificates to trust instead of those that Node trusts. */
  readonly ca?: string | undefined;
}

interface Wanted {
  readonly url: URL;
  readonly sha256: string;
  readonly signal: AbortSignal;
}

export class ScriptFetcher {
  readonly #options: ScriptFetcherOptions;
  readonly #kept: KeptScripts | undefined;

  constructor(options: ScriptFetcherOptions) {
    this.#options = options;
    this.#kept = options.cacheFolder === undefined ? undefined : new KeptScripts(options.cacheFolder);
  }

  async fetch(wanted: Wanted): Promise<Buffer> {
    const known = await this.#kept?.read(wanted.sha256);
    if (known && digestOf(known) === wanted.sha256) return known;
    const bytes = await this.#download(wanted);
    requireDigest(bytes, wanted.sha256, wanted.url.href);
    // The run has what it needs. One that could not be kept, such as on a full disk, is fetched again for the next.
    await this.#kept?.keep(wanted.sha256, bytes).catch(() => undefined);
    return bytes;
  }

  #download({ url, signal }: Wanted): Promise<Buffer> {
    const guard = this.#guardOf(url);
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) !== 0) guard(literal);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]);
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        if (error instanceof HandlerError) return reject(error);
        reject(notFetched(url, causeOf(error), { retryable: true }));
      };
      const call = request(
        url,
        {
          // A connection that is used again would not be judged again.
          agent: false,
          ...{
            signal: limited,
            lookup: guardedLookup(guard, limited),
            headers: { 'user-agent': 'carillon' },
          },
          ...(this.#options.ca !== undefined && { ca: this.#options.ca }),
        },
        (answer) => {
          const { statusCode = 0, headers } = answer;
          if (statusCode !== 200) {
            answer.destroy();
            const redirect = headers.location === undefined ? '' : ', a redirect, which is not followed';
            const retryable = statusCode >= 500 || statusCode === 429;
            return reject(notFetched(url, `the server answered ${statusCode}${redirect}`, { retryable }));
          }
          const parts: Buffer[] = [];
          let size = 0;
          answer.on('data', (part: Buffer) => {
            size += part.byteLength;
            parts.push(part);
            if (size > SCRIPT_BYTES_MAX) {
              answer.destroy();
              reject(notFetched(url, `it is larger than ${SCRIPT_BYTES_MAX} bytes`, { retryable: false }));
            }
          });
          answer.on('error', fail);
          answer.on('end', () => resolve(Buffer.concat(parts)));
        },
      );
      call.on('error', fail);
      call.end();
    });
  }

  #guardOf(url: URL): (address: string) => void {
    const to = { hostname: url.hostname, port: Number(url.port) || 443, method: 'GET', path: url.pathname };
    return (address) => {
      const refusal = this.#options.policy.refusal(address, to);
      if (refusal !== undefined)
        throw notFetched(url, `calls to ${address} are not allowed here: ${refusal}`, { retryable: false });
    };
  }
}

export function requireDigest(bytes: Uint8Array, sha256: string, where: string): void {
  const found = digestOf(bytes);
  if (found === sha256) return;
  const message = `${SCRIPT_ERRORS.notStarted}: the SHA-256 digest of ${where} is ${found}, not ${sha256} as payload.sha256 says`;
  throw new HandlerError(message, { retryable: false });
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function notFetched(url: URL, why: string, options: { retryable: boolean }): HandlerError {
  return new HandlerError(
    `${SCRIPT_ERRORS.notStarted}: ${url.origin}${url.pathname} was not fetched: ${why}`,
    options,
  );
}
