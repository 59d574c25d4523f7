/** What was changed of a job from one version to a later one, whatever stood there meanwhile. Pure. */
import type { JobVersion } from '@carillon/client';

type Change = JobVersion['changes'][number];

/** versions: newest first. */
export function changesBetween(versions: readonly JobVersion[], from: number, to: number): readonly Change[] {
  const first = versions.findIndex(({ version }) => version !== null && version <= to);
  const end = versions.findIndex(({ version }) => version !== null && version <= from);
  if (first === -1) return [];
  const found = new Map<string, Change>();
  for (const { changes } of versions.slice(first, end === -1 ? undefined : end))
    for (const { field, before, after } of changes)
      found.set(field, { field, before, after: found.has(field) ? found.get(field)!.after : after });
  return [...found.values()];
}
