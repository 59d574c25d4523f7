/** The machine as a report tells of it: only what the workload used. */
import type { Machine } from './machine.ts';

export type MachinePart = 'node' | 'node-apart' | 'postgres' | 'redis';

export function machineFacts(machine: Machine, parts: readonly MachinePart[]): string {
  const settings = Object.entries(machine.postgresSettings).map(([name, value]) => `${name} = ${value}`);
  const facts: Record<MachinePart, string> = {
    node: `- Node ${machine.node}; load generator and system share one process, and all share the cores`,
    'node-apart': `- Node ${machine.node}; load generator and server are processes of their own, and all share the cores`,
    postgres: `- PostgreSQL ${machine.postgres}, durable commits (fdatasync here: ${machine.fdatasyncMs} ms); beyond its defaults: ${settings.join(', ') || 'nothing'}`,
    redis: `- Redis ${machine.redis}`,
  };
  return [
    `- Machine: ${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, ${machine.system}; load before the run ${machine.loadBefore}`,
    ...parts.map((part) => facts[part]),
  ].join('\n');
}
