/** What the groups of a person are worth here: a line of the settings gives a group a role in a namespace. */
import type { Grant } from './caller.ts';
import { ROLES, type Role } from './permissions.ts';

export interface GroupGrant {
  /** Everybody's is *. */
  readonly group: string;
  readonly grant: Grant;
}

const LINE = /^(.+)=(viewer|observer|operator|editor|admin)@(\*|[a-z0-9][a-z0-9-]{0,62})(:own)?$/;

/** group=role@namespace, or group=role@namespace:own for one's own jobs; undefined: it is something else. */
export function parseGroupGrant(text: string): GroupGrant | undefined {
  const [, group, role, namespace, own] = LINE.exec(text) ?? [];
  if (group === undefined || namespace === undefined) return undefined;
  return { group, grant: { namespace, role: role as Role, ownOnly: own !== undefined } };
}

/** Of several in one namespace, the one that allows most. */
export function grantsOfGroups(groups: readonly string[], lines: readonly GroupGrant[]): Grant[] {
  const held = new Set(groups);
  const found = new Map<string, Grant>();
  for (const { group, grant } of lines) {
    if (group !== '*' && !held.has(group)) continue;
    const kind = `${grant.namespace} ${grant.ownOnly}`;
    const known = found.get(kind);
    if (!known || ROLES.indexOf(grant.role) > ROLES.indexOf(known.role)) found.set(kind, grant);
  }
  return [...found.values()];
}
