/** The memory of this process, and the most it ever had. */
import { existsSync, readFileSync } from 'node:fs';

export type Memory = { readonly nowBytes: number; readonly peakBytes: number };

export function readMemory(): Memory {
  return { nowBytes: process.memoryUsage.rss(), peakBytes: peakBytes() };
}

/** From the kernel: getrusage would count what the parent had when it started this process. */
function peakBytes(): number {
  const status = '/proc/self/status';
  const kib = existsSync(status) ? /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1] : undefined;
  return (kib === undefined ? process.resourceUsage().maxRSS : Number(kib)) * 1_024;
}
