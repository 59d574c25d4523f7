/**
 * In front of a store that believes every signature: computes that of each request from its raw bytes, by the algorithm that Amazon has
 * published (Signature Version 4, header form) and no library, and refuses with the codes of S3 what does not fit.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SignedRequest {
  readonly method: string;
  /** As on the request line: path and query. */
  readonly target: string;
  /** In order; names as they came. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

export interface StoreKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface FrontOptions {
  /** The store behind. */
  readonly endpoint: string;
  readonly key: StoreKey;
  readonly region: string;
}

/** S3 refuses what is further from its own clock. */
const SKEW_MS_MAX = 15 * 60_000;
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

export class VerifyingS3Front {
  readonly #server: Server;
  /** Requests that were let through. */
  readonly verified: SignedRequest[] = [];
  /** What the clock of the store is ahead of this machine's. */
  aheadMs = 0;

  private constructor(options: FrontOptions) {
    this.#server = createServer((asked, answer) => void this.#serve(asked, answer, options));
  }

  static async start(options: FrontOptions): Promise<VerifyingS3Front> {
    const front = new VerifyingS3Front(options);
    await new Promise<void>((done) => front.#server.listen(0, '127.0.0.1', done));
    return front;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse, options: FrontOptions): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer);
    const signed: SignedRequest = {
      ...{ method: asked.method ?? '', target: asked.url ?? '', body: Buffer.concat(chunks) },
      headers: asked.rawHeaders.flatMap((name, i) =>
        i % 2 === 0 ? [[name, asked.rawHeaders[i + 1]!]] : [],
      ) as [string, string][],
    };
    const nowMs = Date.now() + this.aheadMs;
    const refused = refusalOf(signed, { ...options, nowMs });
    if (refused !== undefined) {
      answer.setHeader('date', new Date(nowMs).toUTCString());
      answer.writeHead(refused === 'XAmzContentSHA256Mismatch' ? 400 : 403, {
        'content-type': 'application/xml',
      });
      answer.end(`<?xml version="1.0"?><Error><Code>${refused}</Code><Message>refused</Message></Error>`);
      return;
    }
    this.verified.push(signed);
    const passed = request(
      `${options.endpoint}${signed.target}`,
      { method: signed.method, headers: asked.headers },
      (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      },
    );
    passed.once('error', () => answer.destroy());
    passed.end(signed.body);
  }
}

/** The code with which S3 refuses the request; undefined: its signature is right. */
export function refusalOf(
  asked: SignedRequest,
  { key, region, nowMs }: { readonly key: StoreKey; readonly region: string; readonly nowMs: number },
): string | undefined {
  const header = headersOf(asked);
  const [, id, day, scopeRegion, signedNames = '', signature] =
    AUTHORIZATION.exec(header.get('authorization') ?? '') ?? [];
  if (signature === undefined) return 'AccessDenied';
  if (id !== key.accessKeyId) return 'InvalidAccessKeyId';
  const date = header.get('x-amz-date') ?? '';
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  const [year = 0, month = 0, ...rest] = parts.map(Number);
  if (Math.abs(Date.UTC(year, month - 1, ...rest) - nowMs) > SKEW_MS_MAX) return 'RequestTimeTooSkewed';
  if (day !== date.slice(0, 8) || scopeRegion !== region) return 'AuthorizationHeaderMalformed';
  const names = signedNames.split(';');
  const isHeld = (name: string) => name === 'host' || name.startsWith('x-amz-');
  if ([...header.keys()].some((name) => isHeld(name) && !names.includes(name))) return 'AccessDenied';
  if (key.sessionToken !== header.get('x-amz-security-token')) return 'InvalidToken';
  if (header.get('x-amz-content-sha256') !== sha256(asked.body)) return 'XAmzContentSHA256Mismatch';
  return signature === signatureOf(asked, { key, region, names }) ? undefined : 'SignatureDoesNotMatch';
}

/** As "Signature Calculations for the Authorization Header" of the API reference of S3 describes it. */
function signatureOf(
  asked: SignedRequest,
  {
    key,
    region,
    names,
  }: { readonly key: StoreKey; readonly region: string; readonly names: readonly string[] },
): string {
  const header = headersOf(asked);
  const [path = '', query = ''] = asked.target.split(/\?(.*)/s);
  const canonical = [
    asked.method,
    path
      .split('/')
      .map((segment) => uriEncode(decodeURIComponent(segment)))
      .join('/'),
    canonicalQuery(query),
    ...names.map((name) => `${name}:${(header.get(name) ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    header.get('x-amz-content-sha256') ?? '',
  ].join('\n');
  const date = header.get('x-amz-date') ?? '';
  const scope = [date.slice(0, 8), region, 's3', 'aws4_request'];
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n');
  let signing: string | Buffer = `AWS4${key.secretAccessKey}`;
  for (const part of scope) signing = createHmac('sha256', signing).update(part).digest();
  return createHmac('sha256', signing).update(toSign).digest('hex');
}

/** Sorted by the encoded names; a parameter without a value has an empty one. A plus sign stands for itself. */
function canonicalQuery(query: string): string {
  if (query === '') return '';
  const pairs = query.split('&').map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s).map((text) => uriEncode(decodeURIComponent(text)));
    return [name, value] as const;
  });
  const byCode = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return pairs
    .sort(([a, x], [b, y]) => byCode(a, b) || byCode(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Everything but letters, digits, and - . _ ~, in UTF-8. */
function uriEncode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9._~-]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

function headersOf({ headers }: SignedRequest): Map<string, string> {
  return new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
