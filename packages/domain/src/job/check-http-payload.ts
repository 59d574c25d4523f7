/**
 * The payload of an http job, judged when the job is made: what could never be called is refused with the field to correct,
 * instead of failing at its first run. The worker reads the same fields again, for jobs that came another way.
 */
import { refuseValue } from '../errors/refusal.ts';
import type { JsonObject, JsonValue } from '../ids.ts';
import { headerRefusal, isCarillonHeader } from './http-headers.ts';
import { namesSecrets, replaceSecrets } from './secret-references.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const SET_BY_CARILLON = 'is set by Carillon itself';
/** They would be sent as something else, and do harm where an address is pasted. */
const CONTROL = /\p{Cc}/u;
const STATUS = /^[1-5](\d\d|xx)$/i;

/** What the checks below say, as a JSON Schema, for people and forms. Methods are read in lower case as well. */
export const HTTP_PARAMETERS = {
  type: 'object',
  properties: {
    url: { type: 'string', format: 'uri', pattern: '^https?:', description: 'What is called.' },
    method: {
      enum: [...METHODS, null],
      description: 'Left out: POST with a body, GET without one.',
    },
    headers: {
      type: ['object', 'null'],
      additionalProperties: { type: ['string', 'number', 'boolean'] },
      description: 'Sent with the request, besides those that Carillon sets.',
    },
    body: { description: 'A text is sent as it is, anything else as JSON.' },
    expect_status: {
      anyOf: [
        { $ref: '#/$defs/status' },
        { type: 'array', minItems: 1, items: { $ref: '#/$defs/status' } },
        { type: 'null' },
      ],
      description: 'What counts as success. Left out: 2xx.',
    },
  },
  required: ['url'],
  additionalProperties: false,
  $defs: {
    status: {
      anyOf: [
        { type: 'integer', minimum: 100, maximum: 599 },
        { type: 'string', pattern: '^[1-5]([0-9][0-9]|xx|XX)$' },
      ],
    },
  },
};

const FIELDS = Object.keys(HTTP_PARAMETERS.properties);

export function checkHttpPayload(payload: JsonObject): void {
  checkFields(payload);
  checkUrl(payload.url);
  checkMethod(payload.method);
  checkHeaders(payload.headers);
  checkExpectation(payload.expect_status);
}

/** A misspelled field would be ignored at every call, and nobody would notice. */
function checkFields(payload: JsonObject): void {
  const unknown = Object.keys(payload).find((name) => !FIELDS.includes(name));
  if (unknown === undefined) return;
  const shown = unknown.slice(0, 64);
  const message = `An http job knows no payload.${shown}; its payload has ${FIELDS.join(', ')}.`;
  refuseValue(`payload.${shown}`, message, 'field_unknown');
}

function checkUrl(value: JsonValue | undefined): void {
  if (value === undefined || value === null) {
    refuseValue('payload.url', 'An http job needs payload.url.', 'field_missing');
  }
  if (typeof value === 'string' && CONTROL.test(value))
    refuseValue('payload.url', 'payload.url must hold no line ends or other control characters.');
  const protocol = typeof value === 'string' ? protocolOf(value) : undefined;
  if (protocol === 'http:' || protocol === 'https:') {
    checkAuthority(value as string);
    return;
  }
  refuseValue('payload.url', 'payload.url must be an http or https URL, such as "http://example.org/ping".');
}

/** Where a call goes is judged now, and must not follow from a value that may change: a secret before the host could hold one, too. */
function checkAuthority(url: string): void {
  if (!namesSecrets(url)) return;
  const authorityWith = (secret: string) => {
    const filled = replaceSecrets(url, () => secret);
    if (!URL.canParse(filled)) return undefined;
    const { host, username, password } = new URL(filled);
    return JSON.stringify([host, username, password]);
  };
  const authority = authorityWith('a');
  if (authority !== undefined && authority === authorityWith('b')) return;
  refuseValue(
    'payload.url',
    'payload.url may hold secrets in its path and query, and not before: a password belongs into the header Authorization.',
  );
}

function protocolOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).protocol : undefined;
}

function checkMethod(value: JsonValue | undefined): void {
  if (value === undefined || value === null) return;
  if (typeof value === 'string' && METHODS.includes(value.toUpperCase())) return;
  refuseValue('payload.method', `payload.method must be one of ${METHODS.join(', ')}.`);
}

function checkHeaders(value: JsonValue | undefined): void {
  if (value === undefined || value === null) return;
  const field = 'payload.headers';
  if (typeof value !== 'object' || Array.isArray(value)) refuseValue(field, `${field} must be an object.`);
  for (const [name, content] of Object.entries(value)) {
    const isPlain =
      typeof content === 'string' || typeof content === 'number' || typeof content === 'boolean';
    if (!HEADER_NAME.test(name)) refuseValue(field, `${field} has a name that no header can have.`);
    if (!isPlain || !HEADER_VALUE.test(String(content))) {
      refuseValue(`${field}.${name}`, `${field}.${name} must be a text that fits on one header line.`);
    }
    const why = headerRefusal(name) ?? (isCarillonHeader(name) ? SET_BY_CARILLON : undefined);
    if (why !== undefined) refuseValue(`${field}.${name}`, `${field}.${name} ${why}. Leave it out.`);
  }
}

function checkExpectation(value: JsonValue | undefined): void {
  if (value === undefined || value === null) return;
  const wanted = Array.isArray(value) ? value : [value];
  const fits = (entry: JsonValue) =>
    (typeof entry === 'string' || typeof entry === 'number') && STATUS.test(String(entry));
  if (wanted.length > 0 && wanted.every(fits)) return;
  refuseValue(
    'payload.expect_status',
    'payload.expect_status must be a status, a class such as "2xx", or a list of them.',
  );
}
