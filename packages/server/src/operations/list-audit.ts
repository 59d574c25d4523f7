/**
 * Who changed what, newest first. Of a namespace to its administrators, from when it was made: what was done in another of
 * the same name before is, like what belongs to none, for those of the whole.
 */
import { type Caller, requireMay, visibleTo } from '@carillon/domain';
import type { AuditQuery, AuditRecord } from '../storage/audit-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListAuditQuery extends Omit<AuditQuery, 'namespaces' | 'sinceMade'> {
  readonly namespace?: string | undefined;
}

export function listAudit(ports: Pick<OperationPorts, 'storage'>) {
  return async (caller: Caller, { namespace, ...query }: ListAuditQuery): Promise<AuditRecord[]> => {
    requireMay(caller, 'audit.read');
    // Whoever sees only their own jobs does not see what others did.
    const visible = visibleTo(caller, 'audit.read')
      ?.filter(({ userId }) => userId === undefined)
      .map((place) => place.namespace);
    const asked =
      namespace === undefined ? visible : [namespace].filter((name) => visible?.includes(name) ?? true);
    return ports.storage.audit.list({
      ...query,
      ...(asked !== undefined && { namespaces: asked }),
      ...(visible !== undefined && { sinceMade: true }),
    });
  };
}
