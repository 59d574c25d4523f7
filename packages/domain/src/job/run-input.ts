/**
 * The input of one run: a JSON merge patch (RFC 7386) over the payload of its job. What results is judged like the payload of a new
 * job, so a run that could never succeed is refused when it is asked for.
 */
import type { JsonObject, JsonValue } from '../ids.ts';
import { checkHttpPayload } from './check-http-payload.ts';
import { readPayload } from './define-job-values.ts';
import { type JobDefinition, payloadOf } from './job.ts';

/** JSON texts. */
export interface RunInput {
  readonly input: string;
  /** The payload of the job with the input merged into it: what the run gets. */
  readonly payload: string;
}

export function readRunInput(job: Pick<JobDefinition, 'payload' | 'handler'>, given: JsonObject): RunInput {
  // Judged before it is merged: how deep it is, and how large.
  const input = readPayload(given);
  const merged = mergePatch(payloadOf(job), given) as JsonObject;
  if (job.handler === 'http') checkHttpPayload(merged);
  return { input, payload: readPayload(merged) };
}

/** Members of the patch replace those of the target, at every depth; null removes one; anything but an object replaces all. */
export function mergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name) ?? null, value));
  }
  // Every name becomes a property of its own, also "__proto__".
  return Object.fromEntries(merged);
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
