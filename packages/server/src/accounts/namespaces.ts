/** Namespaces: visible to whoever has a grant in one; created and removed by administrators of all namespaces. */
import {
  type Caller,
  DEFAULT_NAMESPACE,
  EVERYWHERE,
  isNamespaceName,
  knowsNamespace,
  type Namespace,
  Refusal,
  requireMay,
  requireNamespaceName,
} from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import { NamespaceRecentlyRemoved } from '../storage/account-store.ts';
import { namespaceKey } from '../storage/lane.ts';
import type { AccountParts } from './accounts.ts';
import { namespaceNotFound } from './known-namespaces.ts';

export interface NamespacesQuery {
  /** By name; continue after this one. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export function namespaceOperations(parts: AccountParts) {
  const { store, namespaces, identities, clock } = parts;

  return {
    getNamespace: (caller: Caller, name: string) => visibleNamespace(parts, caller, name),

    async listNamespaces(caller: Caller, { after, limit }: NamespacesQuery): Promise<Namespace[]> {
      requireMay(caller, 'namespaces.read');
      const granted = [...new Set(caller.grants.map(({ namespace }) => namespace))];
      const names = granted.includes(EVERYWHERE) ? undefined : granted;
      return await store.namespaces({ names, after, limit });
    },

    async createNamespace(
      caller: Caller,
      { name, description = '' }: { name: string; description?: string | undefined },
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<Namespace> {
      requireMay(caller, 'namespaces.manage');
      const namespace = {
        name: requireNamespaceName(name, 'name'),
        description,
        createdAtMs: clock.now(),
      };
      await requireOwnKey(parts, name);
      const change = { action: 'namespaces.create', ...namespaceSubject(name), after: { name, description } };
      const audit = auditEntry(caller, change, namespace.createdAtMs);
      const isMade = await store.createNamespace(namespace, audit).catch((error: unknown) => {
        throw error instanceof NamespaceRecentlyRemoved ? recentlyRemoved(name, error) : error;
      });
      if (!isMade) {
        // A namespace is its name and description: an equal one answers the repeated request.
        const [existing] = await store.namespaces({ names: [name], limit: 1 });
        if (idempotencyKey !== undefined && existing?.description === description) return existing;
        throw new Refusal('namespace_exists', `There is a namespace ${name} already.`, { field: 'name' });
      }
      return namespace;
    },

    async updateNamespace(
      caller: Caller,
      name: string,
      { description }: { description?: string | undefined },
    ): Promise<Namespace> {
      requireMay(caller, 'namespaces.manage');
      const before = await visibleNamespace(parts, caller, name);
      if (description === undefined || description === before.description) return before;
      const change = {
        ...{ action: 'namespaces.update', ...namespaceSubject(name) },
        before: { description: before.description },
        after: { description },
      };
      const audit = auditEntry(caller, change, clock.now());
      if (!(await store.describeNamespace(name, description, audit))) throw namespaceNotFound(name);
      return { ...before, description };
    },

    async deleteNamespace(caller: Caller, name: string): Promise<void> {
      requireMay(caller, 'namespaces.manage');
      if (name === DEFAULT_NAMESPACE) {
        throw new Refusal('namespace_in_use', 'The default namespace is always there.');
      }
      const change = { action: 'namespaces.delete', ...namespaceSubject(name), before: { name } };
      const audit = auditEntry(caller, change, clock.now());
      const outcome = isNamespaceName(name) ? await store.removeNamespace(name, audit) : 'unknown';
      if (outcome === 'unknown') throw namespaceNotFound(name);
      if (outcome === 'in_use') throw new Refusal('namespace_in_use', `The namespace ${name} holds jobs.`);
      namespaces.forget(name);
      identities.forget();
    },
  };
}

/** What was granted by the name is forgotten everywhere by then. */
function recentlyRemoved(name: string, { leftMs }: NamespaceRecentlyRemoved): Refusal {
  const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1_000));
  const message = `A namespace ${name} was removed only now; its name can be used again in ${retryAfterSeconds} seconds.`;
  return new Refusal('namespace_recently_removed', message, { field: 'name', retryAfterSeconds });
}

async function visibleNamespace({ store }: AccountParts, caller: Caller, name: string): Promise<Namespace> {
  requireMay(caller, 'namespaces.read');
  const [found] =
    isNamespaceName(name) && knowsNamespace(caller, name)
      ? await store.namespaces({ names: [name], limit: 1 })
      : [];
  if (!found) throw namespaceNotFound(name);
  return found;
}

function namespaceSubject(name: string) {
  return { namespace: name, subject: { kind: 'namespace', id: name } };
}

/** Workers that serve some namespaces are given runs by these numbers: two namespaces never share one. */
async function requireOwnKey({ store }: AccountParts, name: string): Promise<void> {
  const all = await store.namespaces({ names: undefined, limit: Number.MAX_SAFE_INTEGER });
  const same = all.find((other) => other.name !== name && namespaceKey(other.name) === namespaceKey(name));
  if (!same) return;
  const message = `The name ${name} cannot be used beside the namespace ${same.name}: choose another one.`;
  throw new Refusal('field_invalid', message, { field: 'name' });
}
