/**
 * Tenants of the fairness workload: people who own jobs, or namespaces that hold them. Number 0 is the large one, whose jobs
 * came first; all others have equal shares of the rest.
 */
import { SERVER } from '../../packages/domain/src/access/caller.ts';
import type { JobInput } from '../../packages/domain/src/job/job.ts';
import type { Engine } from '../../packages/server/src/compose.ts';
import { inBatches } from '../in-batches.ts';

export const tenantKinds = ['users', 'namespaces'] as const;
export type TenantKind = (typeof tenantKinds)[number];
export type Tenants = { readonly kind: TenantKind; readonly count: number };

/** Of all jobs, when there is more than one tenant. */
const largeShare = 0.4;

export function ownedBy(kind: TenantKind, tenant: number): Partial<JobInput> {
  const name = `tenant-${tenant}`;
  return kind === 'users' ? { userId: name } : { namespace: name };
}

export function tenantOf(index: number, { jobs, count }: { jobs: number; count: number }): number {
  if (count === 1 || index < jobs * largeShare) return 0;
  return 1 + (index % (count - 1));
}

/** A user id is only a word to the engine; a namespace has to exist. Those that do are left as they are. */
export async function makeTenants(
  { operations }: Pick<Engine, 'operations'>,
  { kind, count }: Tenants,
): Promise<void> {
  if (kind === 'users') return;
  await inBatches({
    items: Array.from({ length: count }, (_, tenant) => ownedBy(kind, tenant).namespace!),
    size: 1,
    lanes: 8,
    send: ([name]) =>
      operations.createNamespace(SERVER, { name: name! }, { idempotencyKey: `bench-${name}` }),
  });
}
