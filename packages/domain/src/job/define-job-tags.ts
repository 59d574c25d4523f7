/** What a job carries for people and placement: its namespace, labels to find it by, resources it needs while it runs. */
import { DEFAULT_NAMESPACE } from '../access/caller.ts';
import { Refusal } from '../errors/refusal.ts';
import { readNumber, readText } from './define-job-values.ts';
import type { JobDefinition } from './job.ts';

type Labels = Readonly<Record<string, string>>;
type Resources = Readonly<Record<string, number>>;

export const LABELS_MAX = 32;
export const RESOURCES_MAX = 16;
const RESOURCE_AMOUNT_MAX = 1_000_000_000_000;
const NAMESPACE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const TAG_NAME = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

export const NO_LABELS: Labels = {};
export const NO_RESOURCES: Resources = {};

/** A job stays where it was made: history, keys and permissions would otherwise tell of two places. */
export function readNamespace(given: string | null | undefined, current: JobDefinition | undefined): string {
  const name = given ?? current?.namespace ?? DEFAULT_NAMESPACE;
  if (current && name !== current.namespace) {
    const message = `The job lives in the namespace ${current.namespace} and cannot move to another.`;
    throw new Refusal('field_invalid', message, { field: 'namespace' });
  }
  return requireNamespaceName(name, 'namespace');
}

export function isNamespaceName(name: string): boolean {
  return NAMESPACE_NAME.test(name);
}

export function requireNamespaceName(name: string, field: string): string {
  if (isNamespaceName(name)) return name;
  const message = `${field} is made of small letters, digits and hyphens, up to 63 of them.`;
  throw new Refusal('field_invalid', message, { field });
}

export function readLabels(given: Labels): Labels {
  const entries = readNames(given, { field: 'labels', max: LABELS_MAX });
  for (const [name, value] of entries) readText(value, { field: `labels.${name}`, lengthMax: 200 });
  return entries.length === 0 ? NO_LABELS : Object.fromEntries(entries);
}

/** cpu in cores, memory in bytes, gpu in devices, anything else in units of its own. */
export function readResources(given: Resources): Resources {
  const entries = readNames(given, { field: 'resources', max: RESOURCES_MAX });
  for (const [name, amount] of entries)
    readNumber(amount, { field: `resources.${name}`, min: 0, max: RESOURCE_AMOUNT_MAX });
  return entries.length === 0 ? NO_RESOURCES : Object.fromEntries(entries);
}

function readNames<Value>(
  given: Readonly<Record<string, Value>>,
  { field, max }: { field: string; max: number },
): [string, Value][] {
  const entries = Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length > max) {
    throw new Refusal(
      'field_invalid',
      `${field} has ${entries.length} entries; at most ${max} are allowed.`,
      {
        field,
      },
    );
  }
  for (const [name] of entries) {
    if (TAG_NAME.test(name) && name !== '__proto__') continue;
    const message = `${field} has a name that is not made of up to 63 letters, digits and . _ / - between them.`;
    throw new Refusal('field_invalid', message, { field });
  }
  return entries;
}
