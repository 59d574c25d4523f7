/** Ends what is left of a script: found by its root, by its cookie, and by what was seen of it. Never a process that is not of it. */
import { type ProcessInfo, ProcessTable } from './process-table.ts';

/** For good: numbers are used again. */
export type ProcessIdentity = Pick<ProcessInfo, 'pid' | 'startedAt'>;

export interface ScriptTree {
  /** The value of COOKIE_VARIABLE in its environment, which nothing else has. */
  readonly cookie: string;
  /** Undefined: not started yet. */
  readonly root: ProcessIdentity | undefined;
  /** What leaves the tree is not found by its parents. */
  readonly seen?: readonly ProcessIdentity[];
}

export const COOKIE_VARIABLE = 'CARILLON_RUN_COOKIE';

/** Zombies have ended. */
export function processesOf({ cookie, root, seen = [] }: ScriptTree, table: ProcessTable): ProcessInfo[] {
  const known = [...(root ? [root] : []), ...seen].filter((one) => isIn(table, one));
  const roots = [...known, ...table.withEnvironment(`${COOKIE_VARIABLE}=${cookie}`)];
  const all = roots.flatMap(({ pid }) => table.treeOf(pid));
  return [...new Map(all.map((info) => [info.pid, info])).values()].filter(({ isZombie }) => !isZombie);
}

/**
 * Kills all of it, and answers how many there were. They are stopped first, so that they cannot start others meanwhile; looked for until
 * two looks find none that is new.
 */
export function killTree(tree: ScriptTree): number {
  const found = new Set<number>();
  let table = ProcessTable.read();
  for (let quiet = 0; quiet < 2; table = ProcessTable.read()) {
    const left = processesOf(tree, table).filter(({ pid }) => !found.has(pid));
    for (const { pid } of left) {
      found.add(pid);
      signalTo(pid, 'SIGSTOP');
    }
    quiet = left.length === 0 ? quiet + 1 : 0;
  }
  // Whatever the root is by now, it leads its own group.
  if (tree.root && isIn(table, tree.root)) signalTo(-tree.root.pid, 'SIGKILL');
  for (const pid of found) signalTo(pid, 'SIGKILL');
  return found.size;
}

export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself.
  }
}

function isIn(table: ProcessTable, { pid, startedAt }: ProcessIdentity): boolean {
  return table.get(pid)?.startedAt === startedAt;
}
