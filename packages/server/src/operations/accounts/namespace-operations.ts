/** Namespaces: whoever has any grant in one knows of it; only administrators of the whole make and remove them. */
import {
  type Caller,
  DEFAULT_NAMESPACE,
  isNamespaceName,
  knowsNamespace,
  type Namespace,
  Refusal,
  requireMay,
  requireNamespaceName,
  WHOLE,
} from '@carillon/domain';
import { auditEntry } from '../audit-log.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { namespaceNotFound } from './known-namespaces.ts';

export interface NamespacesQuery {
  /** By name; continue after this one. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export function namespaceOperations(ports: OperationPorts) {
  const { accounts, clock } = ports;

  return {
    getNamespace: (caller: Caller, name: string) => visible(ports, caller, name),

    async listNamespaces(caller: Caller, { after, limit }: NamespacesQuery): Promise<Namespace[]> {
      requireMay(caller, 'namespaces.read');
      const granted = [...new Set(caller.grants.map(({ namespace }) => namespace))];
      const names = granted.includes(WHOLE) ? undefined : granted;
      return await accounts.store.namespaces({ names, after, limit });
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
      const change = { action: 'namespaces.create', ...subjectOf(name), after: { name, description } };
      const audit = auditEntry(caller, change, namespace.createdAtMs);
      if (!(await accounts.store.createNamespace(namespace, audit))) {
        // A name is all there is to a namespace: one that is as it was asked for is the one that was asked for.
        const [there] = await accounts.store.namespaces({ names: [name], limit: 1 });
        if (idempotencyKey !== undefined && there?.description === description) return there;
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
      const before = await visible(ports, caller, name);
      if (description === undefined || description === before.description) return before;
      const change = {
        ...{ action: 'namespaces.update', ...subjectOf(name) },
        before: { description: before.description },
        after: { description },
      };
      const audit = auditEntry(caller, change, clock.now());
      if (!(await accounts.store.describeNamespace(name, description, audit))) throw namespaceNotFound(name);
      return { ...before, description };
    },

    async deleteNamespace(caller: Caller, name: string): Promise<void> {
      requireMay(caller, 'namespaces.manage');
      if (name === DEFAULT_NAMESPACE) {
        throw new Refusal('namespace_in_use', 'The default namespace is always there.');
      }
      const change = { action: 'namespaces.delete', ...subjectOf(name), before: { name } };
      const audit = auditEntry(caller, change, clock.now());
      const outcome = isNamespaceName(name) ? await accounts.store.removeNamespace(name, audit) : 'unknown';
      if (outcome === 'unknown') throw namespaceNotFound(name);
      if (outcome === 'in_use') throw new Refusal('namespace_in_use', `The namespace ${name} holds jobs.`);
      accounts.namespaces.forget(name);
      accounts.identities.forget();
    },
  };
}

async function visible({ accounts }: OperationPorts, caller: Caller, name: string): Promise<Namespace> {
  requireMay(caller, 'namespaces.read');
  const [found] =
    isNamespaceName(name) && knowsNamespace(caller, name)
      ? await accounts.store.namespaces({ names: [name], limit: 1 })
      : [];
  if (!found) throw namespaceNotFound(name);
  return found;
}

function subjectOf(name: string) {
  return { namespace: name, subject: { kind: 'namespace', id: name } };
}
