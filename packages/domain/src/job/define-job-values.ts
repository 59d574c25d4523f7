/** Values of a job request, judged one by one: each is within its bounds, or refused by the name of its field. */
import { DEFAULT_NAMESPACE } from '../access/caller.ts';
import { refuseValue } from '../errors/refusal.ts';
import type { JsonObject, JsonValue } from '../ids.ts';
import { checkHttpPayload } from './check-http-payload.ts';
import { checkScriptPayload, refuseSecretsInCommand } from './check-script-payload.ts';
import { type JobDefinition, PAYLOAD_BYTES_MAX } from './job.ts';

export function readText(text: string, options: { field: string; lengthMax: number }): string {
  const { field, lengthMax } = options;
  if (text.trim() === '') refuseValue(field, `${field} is empty.`);
  requireStorable(text, field);
  if (hasControlCharacter(text)) refuseValue(field, `${field} holds a control character.`);
  if (text.length > lengthMax) {
    refuseValue(field, `${field} is ${text.length} characters long; at most ${lengthMax} are allowed.`);
  }
  return text;
}

/** Half a surrogate pair and U+0000 are valid in JSON, but no PostgreSQL text can hold them. */
function requireStorable(text: string, field: string): void {
  if (text.includes('\u0000')) {
    refuseValue(field, `${field} holds the character U+0000, which cannot be stored.`);
  }
  if (!text.isWellFormed()) {
    refuseValue(field, `${field} holds half of a surrogate pair, which is no character.`);
  }
}

/**
 * Of terminals, of the direction of writing, or of no width: with them one name can look like another. U+200C and U+200D are not
 * among them, nor the marks U+200E and U+200F: some scripts need them.
 */
export function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x7f) return true;
    if (unit >= 0x200b && isUnseen(unit)) return true;
  }
  return false;
}

function isUnseen(unit: number): boolean {
  const isBidirectional = (unit >= 0x202a && unit <= 0x202e) || (unit >= 0x2066 && unit <= 0x2069);
  return isBidirectional || unit === 0x200b || unit === 0x2060 || unit === 0xfeff;
}

export function readNumber(
  value: number,
  options: { field: string; min: number; max: number; integer?: boolean },
): number {
  const { field, min, max, integer = false } = options;
  // Written so that NaN fails too.
  if (value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
  const kind = integer ? 'a whole number' : 'a number';
  return refuseValue(field, `${field} must be ${kind} from ${min} to ${max}, and is ${value}.`);
}

/** Durations are kept in whole milliseconds. */
export function readSeconds(value: number, options: { field: string; min: number; max: number }): number {
  return Math.round(readNumber(value, options) * 1_000);
}

/** Stands in paths, files and command lines as it is: no character of it needs quoting, and none separates parts of a path. */
const JOB_KEY = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

export function readJobKey(given: string, field: string): string {
  if (JOB_KEY.test(given)) return given;
  const message = `${field} is made of 1 to 200 letters, digits and . _ : - and begins with a letter or a digit.`;
  return refuseValue(field, message);
}

const NAMESPACE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A job stays in its namespace: history, keys and permissions would otherwise refer to two of them. */
export function readNamespace(given: string | null | undefined, current: JobDefinition | undefined): string {
  const name = given ?? current?.namespace ?? DEFAULT_NAMESPACE;
  if (current && name !== current.namespace) {
    const message = `The job lives in the namespace ${current.namespace} and cannot move to another.`;
    refuseValue('namespace', message);
  }
  return requireNamespaceName(name, 'namespace');
}

export function isNamespaceName(name: string): boolean {
  return NAMESPACE_NAME.test(name);
}

export function requireNamespaceName(name: string, field: string): string {
  if (isNamespaceName(name)) return name;
  return refuseValue(field, `${field} is made of small letters, digits and hyphens, up to 63 of them.`);
}

type Entries<Value> = Readonly<Record<string, Value>>;

export const LABELS_MAX = 32;
export const RESOURCES_MAX = 16;
const RESOURCE_AMOUNT_MAX = 1_000_000_000_000;
const TAG_NAME = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

export const NO_LABELS: Entries<string> = {};
export const NO_RESOURCES: Entries<number> = {};

export function readLabels(given: Entries<string>): Entries<string> {
  const entries = readNames(given, { field: 'labels', max: LABELS_MAX });
  for (const [name, value] of entries) readText(value, { field: `labels.${name}`, lengthMax: 200 });
  return entries.length === 0 ? NO_LABELS : Object.fromEntries(entries);
}

/** cpu in cores, memory in bytes, gpu in devices, anything else in units of its own. */
export function readResources(given: Entries<number>): Entries<number> {
  const entries = readNames(given, { field: 'resources', max: RESOURCES_MAX });
  for (const [name, amount] of entries)
    readNumber(amount, { field: `resources.${name}`, min: 0, max: RESOURCE_AMOUNT_MAX });
  return entries.length === 0 ? NO_RESOURCES : Object.fromEntries(entries);
}

function readNames<Value>(
  given: Entries<Value>,
  { field, max }: { field: string; max: number },
): [string, Value][] {
  const unsorted = Object.entries(given);
  if (unsorted.length > max) {
    refuseValue(field, `${field} has ${unsorted.length} entries; at most ${max} are allowed.`);
  }
  const entries = unsorted.sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.some(([name]) => !TAG_NAME.test(name) || name === '__proto__')) {
    const message = `${field} has a name that is not made of up to 63 letters, digits and . _ / - between them.`;
    refuseValue(field, message);
  }
  return entries;
}

/** What the built-in handlers demand of their payload. */
export const PAYLOAD_CHECKS: ReadonlyMap<string, (payload: JsonObject) => void> = new Map([
  ['http', checkHttpPayload],
  [
    'script',
    (payload) => {
      checkScriptPayload(payload);
      refuseSecretsInCommand(payload);
    },
  ],
]);

export const PAYLOAD_DEPTH_MAX = 64;

/**
 * The payload as it is kept: JSON text that means to the handler exactly what it meant to the sender. What would be
 * changed or lost on the way (a number too large to be kept exactly, half a character) is refused, not altered.
 */
export function readPayload(payload: JsonObject): string {
  checkValue(payload, 'payload', 1);
  const text = JSON.stringify(payload);
  const bytes = utf8Bytes(text);
  if (bytes > PAYLOAD_BYTES_MAX) {
    const message = `The payload is ${bytes} bytes of JSON; at most ${PAYLOAD_BYTES_MAX} are allowed.`;
    refuseValue('payload', message, 'payload_too_large');
  }
  return text;
}

/** Recursion is safe: it goes no deeper than PAYLOAD_DEPTH_MAX. */
function checkValue(value: JsonValue, path: string, depth: number): void {
  if (typeof value === 'string') requireStorable(value, path);
  else if (typeof value === 'number') requireExact(value, path);
  if (typeof value !== 'object' || value === null) return;
  if (depth > PAYLOAD_DEPTH_MAX) {
    refuseValue('payload', `The payload is nested deeper than ${PAYLOAD_DEPTH_MAX} levels.`);
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) checkValue(value[i]!, `${path}[${i}]`, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    requireStorable(key, `a key of ${path}`);
    // Code that merges objects carelessly would let it change all of them.
    if (key === '__proto__') refuseValue(path, `${path} has a key __proto__, which is not allowed.`);
    checkValue((value as JsonObject)[key]!, `${path}.${key}`, depth + 1);
  }
}

function requireExact(value: number, path: string): void {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return;
  refuseValue(path, `${path} is a number too large to be kept exactly; send it as a string.`);
}

function utf8Bytes(text: string): number {
  // Every UTF-16 unit takes one to three bytes: short texts need no counting.
  return text.length * 3 <= PAYLOAD_BYTES_MAX ? text.length : new TextEncoder().encode(text).length;
}

/** The handler of a payload without one: a URL to call, a script to run, or the handler named default. */
export function inferHandler(payload: string): string {
  const { url, script, code_location: codeLocation } = JSON.parse(payload) as JsonObject;
  if (url !== undefined && url !== null) return 'http';
  return (script ?? codeLocation ?? null) === null ? 'default' : 'script';
}
