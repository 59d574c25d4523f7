/**
 * One HTTP call to the server: bounded in time, repeated only where a repeat can do no harm, and every failure one
 * CarillonError. What the caller aborts ends at once with the caller's own reason.
 */
import { CarillonError } from '../carillon-error.ts';
import { backoffMs, pause } from './backoff.ts';
import { whyUnreachable } from './why-unreachable.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** For one try; the default is that of the client. */
  readonly timeoutMs?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** The same key again answers what was made before. Left out: one is made, so that a repeat is always safe. */
  readonly idempotencyKey?: string | undefined;
}

export type QueryValue = string | number | boolean | Date | undefined | readonly (string | number)[];

export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /api. */
  readonly path: string;
  /** Instead of /api. */
  readonly prefix?: string;
  /** Statuses beside 2xx that are an answer and not an error. */
  readonly alsoFine?: readonly number[];
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Without the key of this client: a session speaks for itself, and must not act with the rights of the key. */
  readonly keyless?: boolean;
  /** A repeat changes nothing: reading, or creating under a key. */
  readonly repeatable?: boolean;
}

export interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
  readonly status: number;
}

export interface TransportOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that asks for more patience than this is reported instead. */
const RETRY_AFTER_MS_MAX = 60_000;
const WORTH_ANOTHER_TRY = new Set([429, 502, 503, 504]);

export class Transport {
  readonly #options: TransportOptions;
  readonly #base: URL;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = baseOf(options.url);
  }

  async json<T>(call: Call): Promise<T> {
    return (await this.answer<T>(call)).body;
  }

  async create<T>(path: string, body: object | undefined, options: CreateOptions): Promise<T> {
    return (await this.createAnswer<T>(path, body, options)).body;
  }

  /** Makes something, once: every try carries the same key, so that a try whose answer was lost does no harm. */
  createAnswer<T>(path: string, body: object | undefined, options: CreateOptions): Promise<Answer<T>> {
    const { idempotencyKey = randomKey(), ...rest } = options;
    const headers = { 'idempotency-key': idempotencyKey };
    return this.answer({ ...rest, method: 'POST', path, body, headers, repeatable: true });
  }

  async answer<T>(call: Call): Promise<Answer<T>> {
    for (let failures = 0; ; ) {
      try {
        return await this.#once<T>(call);
      } catch (error) {
        failures += 1;
        const patient =
          failures <= this.#options.retriesMax && error instanceof CarillonError && mayRepeat(call, error);
        if (!patient) throw error;
        await pause(backoffMs(failures, { retryAfterMs: error.retryAfterMs }), call.signal);
      }
    }
  }

  /** An answer that goes on and on: no timeout, the body as it comes. */
  async open(call: Call): Promise<Response> {
    const response = await this.#fetch(call, call.signal);
    if (!response.ok) throw CarillonError.ofAnswer(response, parsed(await response.text()));
    return response;
  }

  async #once<T>(call: Call): Promise<Answer<T>> {
    call.signal?.throwIfAborted();
    const timeoutMs = call.timeoutMs ?? this.#options.timeoutMs;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout;
    try {
      const response = await this.#fetch(call, signal);
      const text = await response.text();
      const body = parsed(text);
      const fine = response.ok || call.alsoFine?.includes(response.status);
      if (!fine) throw CarillonError.ofAnswer(response, body);
      if (body === undefined && text !== '') throw unreadable(response, text);
      return { body: body as T, headers: response.headers, status: response.status };
    } catch (error) {
      call.signal?.throwIfAborted();
      if (!timeout.aborted || (error instanceof CarillonError && error.status !== undefined)) throw error;
      throw new CarillonError({
        code: 'timed_out',
        message: `${this.#base.origin} has not answered within ${timeoutMs / 1_000} s.`,
        fix: 'Try again, or allow more time with timeoutMs.',
        cause: error,
      });
    }
  }

  async #fetch(call: Call, signal: AbortSignal | undefined): Promise<Response> {
    // Taken out of its object: browsers refuse to run their fetch as a method of another one.
    const { key, headers, fetch } = this.#options;
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    try {
      return await fetch(this.#addressOf(call), {
        method: call.method,
        headers: {
          accept: 'application/json',
          ...(key !== undefined && !call.keyless && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
          ...call.headers,
        },
        redirect: 'error',
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      const { reason, fix } = whyUnreachable(error);
      throw new CarillonError({
        code: 'unreachable',
        message: `${this.#base.origin} cannot be reached: ${reason}.`,
        fix,
        cause: error,
      });
    }
  }

  #addressOf({ path, prefix = '/api', query = {} }: Call): URL {
    const url = new URL(`${this.#base.pathname.replace(/\/+$/, '')}${prefix}${path}`, this.#base);
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one === undefined) continue;
        url.searchParams.append(name, one instanceof Date ? one.toISOString() : String(one));
      }
    }
    return url;
  }
}

/** Whoever refuses to connect, or to count one more request, has done nothing yet: then anything may be sent again. */
function mayRepeat(call: Call, error: CarillonError): boolean {
  if ((error.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return false;
  const untouched = error.status === 429 || (error.code === 'unreachable' && wasRefused(error.cause));
  if (untouched) return true;
  if (call.method !== 'GET' && call.repeatable !== true) return false;
  return error.status === undefined
    ? error.code === 'unreachable' || error.code === 'timed_out'
    : WORTH_ANOTHER_TRY.has(error.status);
}

function wasRefused(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: { code?: string } };
  return cause?.code === 'ECONNREFUSED';
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Something that is not Carillon answered, such as a proxy with a page of its own.
    return undefined;
  }
}

function unreadable(response: Response, text: string): CarillonError {
  return new CarillonError({
    code: 'answer_unreadable',
    message: `The answer is not JSON: ${text.slice(0, 100)}`,
    fix: 'Check that the address is that of a Carillon server.',
    status: response.status,
  });
}

/** A key nobody else has: what is sent under it twice is done once. */
export function randomKey(): string {
  const { crypto } = globalThis;
  // Browsers have no randomUUID on pages that came over plain HTTP.
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function baseOf(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base?.protocol === 'http:' || base?.protocol === 'https:') return base;
  throw new CarillonError({
    code: 'url_invalid',
    message: `"${url}" is not an address of a server.`,
    fix: `Give an address such as ${/^[\w.-]+(:\d+)?$/.test(url) ? `http://${url}` : 'http://127.0.0.1:7420'}.`,
  });
}
