/**
 * A bucket of an S3-compatible store: objects are put, read by range, listed and removed. Each request has a time limit and is tried
 * again when the store does not answer or asks for patience. All four may be repeated without harm.
 */
import { createHash } from 'node:crypto';
import { type Clock, type Random, sleep } from '@carillon/foundation';
import { AwsV4Signer } from 'aws4fetch';
import { LogStoreUnavailable } from '../log-store.ts';

export interface S3BucketOptions {
  /** Such as https://s3.eu-central-1.amazonaws.com: the bucket is named in the path. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly credentials: S3Credentials;
  readonly clock: Clock;
  readonly random: Random;
  /** How long one try may take. */
  readonly tryMsMax?: number;
  /** Keys that one answer lists. */
  readonly listedMax?: number;
}

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** The store did not do what it was asked to. The code is its own, or that of the connection. */
export class S3Fault extends LogStoreUnavailable {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'S3Fault';
    this.code = code;
  }
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Left out: the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

interface S3Answer {
  readonly status: number;
  readonly bytes: Buffer;
  /** By the clock of the store; NaN where it does not say. */
  readonly atMs: number;
}

/** The end of a run waits 5 s for its last lines: a connection that died is noticed in time for another try. */
const TRY_MS_MAX = 4_000;
const TRIES_MAX = 3;
const RETRY_MS = 200;
/** The most that one answer of any store lists. */
const LISTED_MAX = 1_000;
/** A log has far fewer parts than these lists have names: more is no log of ours. */
const LISTS_MAX = 1_000;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export class S3Bucket {
  readonly #options: S3BucketOptions;
  readonly #listedMax: number;
  readonly #closed = new AbortController();
  /** Keys of signatures, which are the same for a day. */
  readonly #cache = new Map<string, ArrayBuffer>();

  constructor(options: S3BucketOptions) {
    this.#options = options;
    this.#listedMax = options.listedMax ?? LISTED_MAX;
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    await this.#ask({ method: 'PUT', key, body: new Uint8Array(body) });
  }

  /** Undefined where there is no such object. */
  async get(key: string, { from, bytes }: { from: number; bytes: number }): Promise<Uint8Array | undefined> {
    const range = `bytes=${from}-${from + bytes - 1}`;
    const answer = await this.#ask({ method: 'GET', key, headers: { range } });
    if (answer.status === 404) return undefined;
    // A store may answer the whole object.
    return answer.status === 206 ? answer.bytes : answer.bytes.subarray(from, from + bytes);
  }

  async remove(key: string): Promise<void> {
    await this.#ask({ method: 'DELETE', key });
  }

  /** All keys that begin so, in order. */
  async keys(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for (let lists = 0; lists < LISTS_MAX; lists += 1) {
      const page = await this.someKeys(prefix, keys.at(-1));
      keys.push(...page);
      if (page.length < this.#listedMax) break;
    }
    return keys;
  }

  /** The first of them, 1,000 at most, after this one. */
  async someKeys(prefix: string, after?: string): Promise<string[]> {
    // Every store knows this form of the list, and goes on after a key instead of a token of its own.
    const query = {
      prefix,
      'max-keys': String(this.#listedMax),
      ...(after !== undefined && { marker: after }),
    };
    const answer = await this.#ask({ method: 'GET', query });
    if (answer.status === 404) throw faultOf(answer, 'GET');
    return textsOf(answer.bytes.toString(), 'Key');
  }

  /** Requests that are under way fail. */
  close(): void {
    this.#closed.abort();
  }

  /** An object that is not there is an answer; whatever else is no success is a fault. */
  async #ask(request: S3Request): Promise<S3Answer> {
    const { clock, random } = this.#options;
    const { signal } = this.#closed;
    for (let tries = 1; ; tries += 1) {
      let fault: S3Fault;
      try {
        const answer = await this.#try(request);
        const isMissing = answer.status === 404 && request.method !== 'PUT';
        if ((answer.status >= 200 && answer.status < 300) || isMissing) return answer;
        fault = faultOf(answer, request.method);
        if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) throw fault;
      } catch (error) {
        if (error instanceof S3Fault) throw error;
        fault = connectionFault(error, request.method);
      }
      if (tries === TRIES_MAX || signal.aborted) throw fault;
      await sleep(clock, RETRY_MS * 2 ** tries * (0.5 + random.next() / 2), signal);
    }
  }

  async #try({ method, key, query, headers, body }: S3Request): Promise<S3Answer> {
    const { endpoint, bucket, region, credentials, tryMsMax = TRY_MS_MAX } = this.#options;
    // Written as the signature has it: what a store makes of other spellings, such as a plus sign, differs.
    const path = [bucket, ...(key?.split('/') ?? [])].map(encode).join('/');
    const search = Object.entries(query ?? {}).map((pair) => pair.map(encode).join('='));
    const url = `${endpoint.replace(/\/+$/, '')}/${path}${search.length > 0 ? `?${search.join('&')}` : ''}`;
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    const signer = new AwsV4Signer({
      ...{ method, url, service: 's3', region, accessKeyId, secretAccessKey, cache: this.#cache },
      ...(sessionToken !== undefined && { sessionToken }),
      // Signed as well: the connection may be plain HTTP.
      headers: { ...headers, 'x-amz-content-sha256': digest },
    });
    const signed = await signer.sign();
    const answer = await fetch(signed.url, {
      ...{ method, headers: signed.headers, redirect: 'manual' },
      ...(body && { body }),
      signal: AbortSignal.any([this.#closed.signal, AbortSignal.timeout(tryMsMax)]),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, bytes, atMs: Date.parse(answer.headers.get('date') ?? '') };
  }
}

const ADDRESS_HINT = ' Check logs.s3.region and logs.s3.endpoint.';
const HINTS: Readonly<Record<string, string>> = {
  SignatureDoesNotMatch: ' Check the secret access key.',
  InvalidAccessKeyId: ' Check the access key id.',
  AuthorizationHeaderMalformed: ADDRESS_HINT,
  ExpiredToken: ' AWS_SESSION_TOKEN has expired: start the server with a new one.',
};

function faultOf({ status, bytes, atMs }: S3Answer, method: string): S3Fault {
  const [code = `HTTP ${status}`] = textsOf(bytes.toString(), 'Code');
  let hint = HINTS[code] ?? (status === 301 || status === 307 ? ADDRESS_HINT : '');
  if (code === 'RequestTimeTooSkewed') hint = ` The clock of this server ${skewText(atMs)}: set it.`;
  return new S3Fault(code, `the S3 store of logs answered ${status} (${code}) to ${method}.${hint}`);
}

function skewText(atMs: number): string {
  const minutes = Math.round((atMs - Date.now()) / 60_000);
  if (Number.isNaN(minutes)) return 'differs from that of the store';
  return `is ${Math.abs(minutes)} minutes ${minutes > 0 ? 'behind' : 'ahead of'} that of the store`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function connectionFault(error: unknown, method: string): S3Fault {
  const { name, cause } = error as Error;
  const inner = (cause as { code?: unknown } | undefined)?.code;
  const code = name === 'TimeoutError' ? 'ETIMEDOUT' : typeof inner === 'string' ? inner : 'ECONNRESET';
  return new S3Fault(code, `the S3 store of logs did not answer ${method} (${code})`, { cause: error });
}

/** The texts of all elements of this name; those that are used hold no others. */
function textsOf(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'));
  return [...found].map(([, text = '']) =>
    text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (all, decimal, hex, named) => {
      if (named !== undefined) return ENTITIES[named] ?? all;
      return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
    }),
  );
}
