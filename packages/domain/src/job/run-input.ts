/**
 * The input of one run: a JSON merge patch (RFC 7386) over the payload of its job. What results is judged like the payload of a new
 * job, so a run that could never succeed is refused when it is asked for. It is no way around the permissions of the job: who may
 * not see the payload may not write over it, and who may not change the job may not change where it sends what it holds.
 */
import { type Caller, type Owner, requireMay } from '../access/caller.ts';
import type { JsonObject, JsonValue } from '../ids.ts';
import { SCRIPT_HANDLER, SCRIPT_MEMBERS } from './check-script-payload.ts';
import { PAYLOAD_CHECKS, readPayload, readText } from './define-job-values.ts';
import { type JobDefinition, payloadOf } from './job.ts';

export const RUN_REASON_LENGTH_MAX = 500;

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
  PAYLOAD_CHECKS.get(job.handler)?.(merged);
  return { input, payload: readPayload(merged) };
}

/**
 * The members of a payload that are only data, by handler. All others decide where or how the job calls, also those that a later
 * version adds. Of a handler that is not named here, every member is data for its function.
 */
const DATA_MEMBERS = new Map([['http', ['body', 'expect_status']]]);

type Target = Owner & Pick<JobDefinition, 'payload' | 'handler'>;

/** given: with the request, not kept from an earlier run, whose values the caller did not choose. */
export function requireMayInput(
  caller: Caller,
  job: Target,
  { input, given }: { input: JsonObject; given: boolean },
): void {
  if (given) requireMay(caller, 'payloads.read', job, 'an input, which is merged over the payload,');
  if (job.handler === SCRIPT_HANDLER) requireMayScriptInput(caller, job, { input, given });
  const names = membersThatRedirect(job, input);
  if (names.length === 0) return;
  const shown = names.slice(0, 5).map((name) => name.slice(0, 64));
  const members = `${shown.join(', ')}${names.length > shown.length ? ', …' : ''}`;
  const what = `an input that changes where or how the job calls (${members})`;
  requireMay(caller, 'jobs.update', job, what);
}

/** What a script does with its data is not known here, so any input that is chosen needs the right to choose what is run. */
function requireMayScriptInput(
  caller: Caller,
  job: Target,
  { input, given }: { input: JsonObject; given: boolean },
): void {
  const changesCode = SCRIPT_MEMBERS.some((name) => Object.hasOwn(input, name));
  if (given || changesCode) requireMay(caller, 'scripts.submit', job, 'an input of a script job');
}

/** A job that runs a script, or is changed to run another one, is made only by those who may run code on the workers. */
export function requireMayScript(
  caller: Caller,
  job: Target,
  before?: Pick<JobDefinition, 'payload' | 'handler'>,
): void {
  if (job.handler !== SCRIPT_HANDLER) return;
  if (before?.handler === job.handler && before.payload === job.payload) return;
  requireMay(caller, 'scripts.submit', job, 'a script job');
}

function membersThatRedirect(job: Target, input: JsonObject): string[] {
  const data = DATA_MEMBERS.get(job.handler);
  if (!data) return [];
  const names = Object.keys(input).filter((name) => !data.includes(name));
  return changesMethod(payloadOf(job), input) ? [...names, 'body'] : names;
}

/** An http job that names no method posts what it has, and gets when it has nothing. */
function changesMethod(payload: JsonObject, input: JsonObject): boolean {
  if (!Object.hasOwn(input, 'body') || (payload.method ?? null) !== null) return false;
  return ((payload.body ?? null) === null) !== (input.body === null);
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

/** Why a run is asked for, as people read it in lists and in the audit log: one line. */
export function readRunReason(reason: string): string {
  return readText(reason, { field: 'reason', lengthMax: RUN_REASON_LENGTH_MAX });
}
