/**
 * The list of measured systems, in the order of a round. Adding one is one line. They are imported on demand, so that
 * the process of one system never loads the code of another.
 */
import type { System } from './system.ts';

export type SystemEntry = {
  readonly name: string;
  readonly store: 'postgres' | 'redis';
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
];

export function systemNamed(name: string): SystemEntry {
  const entry = systems.find((system) => system.name === name);
  if (!entry)
    throw new Error(`no system is called ${name}; there are: ${systems.map((s) => s.name).join(', ')}`);
  return entry;
}
