/** The processes of this machine as /proc tells them: who started whom, and what each uses. Elsewhere than on Linux there are none. */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  /** A zombie has ended; only its exit code is left. */
  readonly isZombie: boolean;
  /** Of its own and of its children that it has waited for. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** With the number it names a process for good: numbers are used again. */
  readonly startedAt: string;
}

const TICKS_PER_SECOND = 100;

export class ProcessTable {
  readonly #byPid = new Map<number, ProcessInfo>();
  readonly #children = new Map<number, ProcessInfo[]>();

  static read(): ProcessTable {
    const table = new ProcessTable();
    let names: string[] = [];
    try {
      names = readdirSync('/proc');
    } catch {
      // No Linux.
    }
    for (const name of names) {
      const first = name.charCodeAt(0);
      const info = first >= 0x30 && first <= 0x39 ? readProcess(Number(name)) : undefined;
      if (info) table.#add(info);
    }
    return table;
  }

  #add(info: ProcessInfo): void {
    this.#byPid.set(info.pid, info);
    const siblings = this.#children.get(info.parent);
    if (siblings) siblings.push(info);
    else this.#children.set(info.parent, [info]);
  }

  get(pid: number): ProcessInfo | undefined {
    return this.#byPid.get(pid);
  }

  childrenOf(pid: number): readonly ProcessInfo[] {
    return this.#children.get(pid) ?? [];
  }

  /** The process itself first, then those it started, and theirs. */
  treeOf(pid: number): ProcessInfo[] {
    const root = this.#byPid.get(pid);
    const tree = root ? [root] : [];
    for (let i = 0; i < tree.length; i += 1) tree.push(...this.childrenOf(tree[i]!.pid));
    return tree;
  }

  /** Those whose environment held this text when they started. */
  withEnvironment(text: string): ProcessInfo[] {
    return [...this.#byPid.values()].filter(
      ({ pid, isZombie }) => !isZombie && environmentOf(pid).includes(text),
    );
  }
}

/**
 * The process itself first, then those it started, and theirs, without a look at any other. One that starts while another ends may be
 * missed, or all where the kernel does not list children.
 */
export function readTree(pid: number): ProcessInfo[] {
  const root = readProcess(pid);
  const tree = root ? [root] : [];
  for (let i = 0; i < tree.length; i += 1)
    for (const child of childrenOf(tree[i]!.pid)) {
      const info = readProcess(child);
      if (info) tree.push(info);
    }
  return tree;
}

/** Each thread has those that it started. */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** Undefined: there is none, or no /proc. */
export function readProcess(pid: number): ProcessInfo | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It has ended since.
    return undefined;
  }
  // The name in brackets may hold anything, brackets and spaces too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  return {
    pid,
    parent: Number(fields[1]),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
    cpuSeconds: ticks / TICKS_PER_SECOND,
    memoryBytes: Number(fields[21]) * pageBytes(),
    startedAt: fields[19] ?? '',
  };
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

let knownPageBytes: number | undefined;

/** No call of Node says it: what this process uses in bytes, over the same in pages, to the next power of two. */
function pageBytes(): number {
  if (knownPageBytes !== undefined) return knownPageBytes;
  try {
    const pages = Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[1]);
    knownPageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  } catch {
    knownPageBytes = 4_096;
  }
  return knownPageBytes;
}
