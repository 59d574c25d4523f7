/** What follows from the namespaces that the key of a worker is bound to. */
import { SCRIPT_LABELS } from '@carillon/domain';

/** By them jobs of all namespaces would be refused, also of those that the worker has nothing to do with. */
export function withoutScriptLabels(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  const names: readonly string[] = Object.values(SCRIPT_LABELS);
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));
}

type Namespaces = 'all' | readonly string[];

/** Undefined: no namespaces bound the worker. */
export function boundTo({ rights }: { rights: { namespaces: Namespaces } }): readonly string[] | undefined {
  return rights.namespaces === 'all' ? undefined : rights.namespaces;
}

/** Whether a key may still come in for all that it came in for before. */
export function covers(now: Namespaces, before: Namespaces): boolean {
  return now === 'all' || (before !== 'all' && before.every((namespace) => now.includes(namespace)));
}
