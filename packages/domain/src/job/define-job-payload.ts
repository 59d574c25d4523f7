/**
 * The payload as it is kept: JSON text that means to the handler exactly what it meant to the sender. What would be
 * changed or lost on the way (a number too large to be kept exactly, half a character) is refused, not altered.
 */
import { Refusal } from '../errors/refusal.ts';
import type { JsonObject, JsonValue } from '../ids.ts';
import { requireStorable } from './define-job-values.ts';
import { PAYLOAD_BYTES_MAX } from './job.ts';

export const PAYLOAD_DEPTH_MAX = 64;

export function readPayload(payload: JsonObject): string {
  checkValue(payload, 'payload', 1);
  const text = JSON.stringify(payload);
  const bytes = utf8Bytes(text);
  if (bytes > PAYLOAD_BYTES_MAX) {
    const message = `The payload is ${bytes} bytes of JSON; at most ${PAYLOAD_BYTES_MAX} are allowed.`;
    throw new Refusal('payload_too_large', message, { field: 'payload' });
  }
  return text;
}

/** What the payload is meant for, when nobody says: a URL to call, a script to run, or the handler named default. */
export function inferHandler(payload: string): string {
  const { url, script, code_location: codeLocation } = JSON.parse(payload) as JsonObject;
  if (url !== undefined && url !== null) return 'http';
  return (script ?? codeLocation ?? null) === null ? 'default' : 'script';
}

/** Recursion is safe: it goes no deeper than PAYLOAD_DEPTH_MAX. */
function checkValue(value: JsonValue, path: string, depth: number): void {
  if (typeof value === 'string') requireStorable(value, path);
  else if (typeof value === 'number') requireExact(value, path);
  if (typeof value !== 'object' || value === null) return;
  if (depth > PAYLOAD_DEPTH_MAX) {
    const message = `The payload is nested deeper than ${PAYLOAD_DEPTH_MAX} levels.`;
    throw new Refusal('field_invalid', message, { field: 'payload' });
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) checkValue(value[i]!, `${path}[${i}]`, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    requireStorable(key, `a key of ${path}`);
    // Code that merges objects carelessly would let it change all of them.
    if (key === '__proto__') {
      throw new Refusal('field_invalid', `${path} has a key __proto__, which is not allowed.`, {
        field: path,
      });
    }
    checkValue((value as JsonObject)[key]!, `${path}.${key}`, depth + 1);
  }
}

function requireExact(value: number, path: string): void {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return;
  const message = `${path} is a number too large to be kept exactly; send it as a string.`;
  throw new Refusal('field_invalid', message, { field: path });
}

function utf8Bytes(text: string): number {
  // Every UTF-16 unit takes one to three bytes: short texts need no counting.
  return text.length * 3 <= PAYLOAD_BYTES_MAX ? text.length : new TextEncoder().encode(text).length;
}
