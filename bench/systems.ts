/**
 * The list of measured systems, in the order of a round. Adding one is one line. They are imported on demand, so that
 * the process of one system never loads the code of another.
 */
import type { Servers } from './servers.ts';
import type { System } from './system.ts';

export type SystemEntry = {
  readonly name: string;
  readonly store: 'postgres' | 'redis';
  /** Makes what it needs on this machine, once before all rounds; answers why it cannot be run, or null. */
  readonly makeReady?: () => Promise<string | null>;
  readonly create: () => Promise<System>;
};

export const systems: readonly SystemEntry[] = [
  { name: 'carillon', store: 'postgres', create: async () => new (await import('./carillon.ts')).Carillon() },
  {
    name: 'graphile-worker',
    store: 'postgres',
    create: async () => new (await import('./peers/graphile-worker.ts')).GraphileWorker(),
  },
  { name: 'bullmq', store: 'redis', create: async () => new (await import('./peers/bullmq.ts')).BullMq() },
  {
    name: 'pg-boss',
    store: 'postgres',
    create: async () => new (await import('./peers/pg-boss.ts')).PgBossSystem(),
  },
  {
    name: 'river',
    store: 'postgres',
    makeReady: async () => (await import('./peers/river.ts')).buildRiver(),
    create: async () => new (await import('./peers/river.ts')).River(),
  },
];

export function systemNamed(name: string): SystemEntry {
  const entry = systems.find((system) => system.name === name);
  if (!entry)
    throw new Error(`no system is called ${name}; there are: ${systems.map((s) => s.name).join(', ')}`);
  return entry;
}

export type SkipReasons = ReadonlyMap<string, string>;

/** Which of the systems cannot be run on this machine, each with the reason: the report names both. */
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
