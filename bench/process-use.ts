/**
 * What processes use. Of a process and all its descendants it is read from Linux's /proc; the time of children that have
 * ended counts too: the kernel adds it to their parent, so the sum over the tree neither loses nor doubles any.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export type ProcessUse = ReturnType<typeof readTree>[number];

/** The kernel reports time in ticks of 10 ms to every program, whatever it counts in itself. */
const tickMs = 10;

export function canReadProcesses(): boolean {
  return existsSync('/proc/self/smaps_rollup');
}

export function readTree(rootPid: number) {
  return readStats(rootPid).map(({ pid, name, cpuMs }) => ({ pid, name, cpuMs, ...readMemoryOf(pid) }));
}

/** Without the memory, which takes the kernel far longer to tell. */
function readTreeCpuMs(rootPid: number): number {
  return readStats(rootPid).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

function readStats(rootPid: number): readonly Stat[] {
  const all = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => readStat(Number(entry)) ?? []);
  const childrenOf = Map.groupBy(all, ({ parentPid }) => parentPid);
  const tree: Stat[] = [];
  const visit = (stat: Stat) => {
    tree.push(stat);
    for (const child of childrenOf.get(stat.pid) ?? []) visit(child);
  };
  const root = all.find(({ pid }) => pid === rootPid);
  if (!root) throw new Error(`process ${rootPid} is gone`);
  visit(root);
  return tree;
}

type Stat = NonNullable<ReturnType<typeof readStat>>;

function readStat(pid: number) {
  const text = readUnlessGone(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name stands in brackets and may hold blanks and brackets itself: fields are counted from after the last one.
  const nameEnd = text.lastIndexOf(')');
  const fields = text.slice(nameEnd + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
  return {
    pid,
    parentPid: Number(fields[1]),
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    cpuMs: ticks * tickMs,
  };
}

function readMemoryOf(pid: number) {
  const text = readUnlessGone(`/proc/${pid}/smaps_rollup`) ?? '';
  const bytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1_024;
  // PSS is its share of memory: pages that n processes map count for an nth. RSS counts shared buffers once per process.
  return { rssBytes: bytes('Rss'), pssBytes: bytes('Pss') };
}

/** A process may end between being listed and being read. */
function readUnlessGone(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

/** Of one process, in a moment: for reading it again and again. */
export function readRssBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readUnlessGone(`/proc/${pid}/status`) ?? '')?.[1];
  if (kib === undefined) throw new Error(`the memory of process ${pid} cannot be read`);
  return Number(kib) * 1_024;
}

/** Microseconds of one core for each job. */
export type CoreUsPerJob = { readonly store: number; readonly system: number };

type CpuSources = { readonly storePid: number; readonly systemPids?: readonly number[] | undefined };

/** Null where /proc cannot be read. */
type CpuReading = { readonly storeMs: number; readonly systemMs: number } | null;

export function readCpu({ storePid, systemPids = [] }: CpuSources): CpuReading {
  if (!canReadProcesses()) return null;
  const { user, system } = process.cpuUsage();
  const othersMs = systemPids.reduce((sum, pid) => sum + readTreeCpuMs(pid), 0);
  return { storeMs: readTreeCpuMs(storePid), systemMs: (user + system) / 1_000 + othersMs };
}

export function coreUsPerJob(before: CpuReading, after: CpuReading, jobs: number): CoreUsPerJob | null {
  if (before === null || after === null) return null;
  return {
    store: ((after.storeMs - before.storeMs) * 1_000) / jobs,
    system: ((after.systemMs - before.systemMs) * 1_000) / jobs,
  };
}

/** Of this process: what it has, and the most it ever had. */
export type Memory = { readonly nowBytes: number; readonly peakBytes: number };

export function readMemory(): Memory {
  return { nowBytes: process.memoryUsage.rss(), peakBytes: peakBytes() };
}

/** From the kernel: getrusage would count what the parent had when it started this process. */
function peakBytes(): number {
  const kib = /^VmHWM:\s+(\d+) kB/m.exec(readUnlessGone('/proc/self/status') ?? '')?.[1];
  return (kib === undefined ? process.resourceUsage().maxRSS : Number(kib)) * 1_024;
}
