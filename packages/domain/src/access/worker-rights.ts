/** What a worker may do with the key that it came with: offer handlers, for the jobs of namespaces. */
import { type Caller, EVERYWHERE, type Grant, may, requireMay, visibleTo } from './caller.ts';
import type { Action } from './permissions.ts';

/** A worker key may do this and nothing else. */
export const WORKER_SCOPES: ReadonlySet<Action> = new Set<Action>(['workers.connect']);

export function mayOffer(caller: Caller, handler: string): boolean {
  if (!may(caller, 'workers.connect') || workerNamespaces(caller).length === 0) return false;
  return caller.offers === undefined || caller.offers.includes(handler);
}

/** The namespaces whose runs a worker of this caller may be given. */
export function workerNamespaces(caller: Caller): 'all' | readonly string[] {
  // A grant on one's own jobs alone connects no worker: workers are given runs of whole namespaces.
  return (
    visibleTo(caller, 'workers.connect')
      ?.filter(({ userId }) => userId === undefined)
      .map(({ namespace }) => namespace) ?? 'all'
  );
}

/** The grants of a worker key for these namespaces; left out: for all those that the caller may connect workers in. */
export function workerGrants(caller: Caller, namespaces?: readonly string[]): Grant[] {
  const own = workerNamespaces(caller);
  if (namespaces === undefined && own.length === 0) requireMay(caller, 'workers.connect');
  const names = namespaces ?? (own === 'all' ? [EVERYWHERE] : own);
  return [...new Set(names)].map((namespace) => ({ namespace, role: 'admin', ownOnly: false }));
}
