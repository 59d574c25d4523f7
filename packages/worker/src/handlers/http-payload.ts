/** Reads the payload of an http job. What cannot be called is refused for good: no retry would make it callable. */
import { headerRefusal, isCarillonHeader, type JsonObject, type JsonValue } from '@carillon/domain';
import { HandlerError } from '../handler.ts';

export interface HttpCall {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | undefined;
  expects(status: number): boolean;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What a header line can carry: no line breaks, no control characters, nothing beyond one byte. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
export function readHttpPayload(payload: JsonObject): HttpCall {
  const body = readBody(payload.body);
  const method = readMethod(payload.method, body !== undefined);
  const headers = readHeaders(payload.headers);
  const isObject = typeof payload.body === 'object' && payload.body !== null;
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (isObject && !hasType) headers['content-type'] = 'application/json';
  return {
    url: readUrl(payload.url),
    method,
    headers,
    body,
    expects: readExpectation(payload.expect_status),
  };
}

function readUrl(value: JsonValue | undefined): URL {
  if (typeof value !== 'string') throw unusable('payload.url is missing');
  let url: URL;
  try {
    url = new URL(value);
  } catch (error) {
    throw unusable(`payload.url is not a URL: ${value}`, error);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw unusable(`payload.url must be http or https, not ${url.protocol}`);
  return url;
}

function readMethod(value: JsonValue | undefined, hasBody: boolean): string {
  if (value === undefined || value === null) return hasBody ? 'POST' : 'GET';
  const method = String(value).toUpperCase();
  if (!METHODS.has(method))
    throw unusable(`payload.method ${method} is not one of ${[...METHODS].join(', ')}`);
  return method;
}

function readHeaders(value: JsonValue | undefined): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw unusable('payload.headers must be an object');
  const headers: Record<string, string> = {};
  for (const [name, content] of Object.entries(value)) {
    if (!TOKEN.test(name) || !FIELD_VALUE.test(String(content)))
      throw unusable(`payload.headers: "${name}" is not a valid header`);
    const why = headerRefusal(name);
    if (why !== undefined) throw unusable(`payload.headers: "${name}" ${why}`);
    if (!isCarillonHeader(name)) headers[name.toLowerCase()] = String(content);
  }
  return headers;
}

function readBody(value: JsonValue | undefined): Buffer | undefined {
  if (value === undefined || value === null) return undefined;
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A status, a list of them, or a class such as "2xx". By default any 2xx. */
function readExpectation(value: JsonValue | undefined): (status: number) => boolean {
  if (value === undefined || value === null) return (status) => status >= 200 && status < 300;
  const wanted = (Array.isArray(value) ? value : [value]).map((entry) => String(entry).toLowerCase());
  for (const entry of wanted)
    if (!/^[1-5](\d\d|xx)$/.test(entry)) throw unusable(`payload.expect_status: "${entry}" is not a status`);
  return (status) =>
    wanted.some((entry) => entry === String(status) || entry === `${Math.floor(status / 100)}xx`);
}

function unusable(message: string, cause?: unknown): HandlerError {
  return new HandlerError(message, { retryable: false, cause });
}
