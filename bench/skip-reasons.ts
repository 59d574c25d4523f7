/** Which of the systems cannot be run on this machine, each with the reason: the report names both. */
import type { Servers } from './servers.ts';
import type { SystemEntry } from './systems.ts';

export type SkipReasons = ReadonlyMap<string, string>;

export async function findSkipReasons(
  systems: readonly SystemEntry[],
  servers: Servers,
): Promise<SkipReasons> {
  const reasons = new Map<string, string>();
  for (const { name, store, makeReady } of systems) {
    const reason = store === 'redis' ? servers.redisProblem : await makeReady?.();
    if (typeof reason === 'string') reasons.set(name, reason);
  }
  return reasons;
}
