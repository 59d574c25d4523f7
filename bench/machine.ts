/** Facts about the machine that a reader needs before believing a figure. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { median } from './median.ts';
import type { Servers } from './servers.ts';

export type Machine = ReturnType<typeof describeMachine>;

export function describeMachine(servers: Servers) {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    postgres: servers.postgres,
    postgresSettings: servers.postgresSettings,
    redis: servers.redis,
    /** What a durable commit costs at least here. Near zero means that the disk, or the machine, does not keep its word. */
    fdatasyncMs: measureFdatasyncMs(servers.folder),
    /** The load of the machine before the bench began: other work on it lowers every figure. */
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

function measureFdatasyncMs(folder: string): number {
  const path = join(folder, 'fdatasync-probe');
  const file = openSync(path, 'w');
  const page = Buffer.alloc(8_192, 1);
  const samplesMs: number[] = [];
  for (let i = 0; i < 50; i += 1) {
    const startedMs = performance.now();
    writeSync(file, page, 0, page.length, 0);
    fdatasyncSync(file);
    samplesMs.push(performance.now() - startedMs);
  }
  closeSync(file);
  rmSync(path);
  return Math.round(median(samplesMs) * 1_000) / 1_000;
}

export type MachinePart = 'node' | 'node-apart' | 'postgres' | 'redis';

/** As a report tells of it: only what the workload used. */
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
