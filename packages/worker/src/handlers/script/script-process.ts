/**
 * One script as a process tree: starts it contained, passes on what it says, stops it, and resolves when nothing of it is left. It knows
 * nothing of jobs. A limit that is broken ends the tree, and the end says which.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import type { RunTrust } from '../../worker-trust.ts';
import { notStartedBy } from './contain-program.ts';
import { type Containment, commandLine, environmentFor, type ScriptLimits } from './containment.ts';
import { machineMs } from './guard-program.ts';
import type { HiddenPath } from './hidden-paths.ts';
import type { LaunchEnd, LaunchOrder } from './launcher-program.ts';
import { closeWriters, type NamedPipe, type PipeStock } from './named-pipes.ts';
import { type ProcessInfo, ProcessTable } from './process-table.ts';
import {
  COOKIE_VARIABLE,
  killTree,
  type ProcessIdentity,
  processesOf,
  type ScriptTree,
  signalTo,
} from './process-tree.ts';
import type { RunFolder, UserIds } from './run-folder.ts';
import type { GuardedScript, ScriptGuard } from './script-guard.ts';
import type { ScriptLauncher } from './script-launcher.ts';
import type { TreeSampler, TreeUse } from './tree-sampler.ts';

export interface ScriptProcessOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The worker's own; given away when the script starts. */
  readonly folder: RunFolder;
  /** Read as standard input. */
  readonly stdinFile: string;
  readonly user: UserIds | undefined;
  readonly mergeOutput: boolean;
  readonly hidden: readonly HiddenPath[];
  readonly containment: Containment;
  readonly limits: ScriptLimits;
  readonly graceMs: number;
  readonly sampler: TreeSampler;
  readonly launcher: ScriptLauncher;
  readonly pipes: PipeStock;
  readonly guard: ScriptGuard;
  /** The guard ends the script with it. */
  readonly trust: RunTrust | undefined;
  /** A variable that only this run has: what is left of it is found by it. */
  readonly cookie: string;
  /** A promise when no more should be read before it resolves. */
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => Promise<void> | undefined;
  readonly onControl: (bytes: Buffer) => void;
}

/** Which limit the worker itself found broken. */
export type BrokenLimit = 'memory' | 'cpu' | 'processes';

export interface ScriptEnd {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  readonly broken: BrokenLimit | undefined;
  /** The kernel killed some process of the machine for want of memory while the script ran. */
  readonly sawOomKill: boolean;
  readonly cpuSeconds: number | undefined;
  readonly peakBytes: number | undefined;
}

/** Pipes that something still holds after the end are read for this long. */
const AFTER_EXIT_MS = 2_000;
const POLL_MS = 50;
const KILL_AGAIN_MS = 200;
const INIT_SIGNAL_BASE = 128;

export class ScriptProcess {
  readonly #options: ScriptProcessOptions;
  /** Undefined: not started yet. */
  #root: ProcessIdentity | undefined;
  #hasExited = false;
  #stopping = false;
  /** By us: what contains the script answers it in its own way. */
  #isKilled = false;
  #killTimer: NodeJS.Timeout | undefined;
  #broken: BrokenLimit | undefined;
  #peakBytes: number | undefined;
  #cpuSeconds: number | undefined;
  #blocked = 0;
  /** In a group: what was seen of the tree, since what leaves it is not found by its parents. */
  readonly #seen = new Map<number, ProcessInfo>();

  constructor(options: ScriptProcessOptions) {
    this.#options = options;
  }

  /** Rejects when it could not be started. `mayStart` is asked at the last moment. */
  async run(mayStart: () => boolean): Promise<ScriptEnd | undefined> {
    const { folder, user, guard, trust, cookie } = this.#options;
    const pipes = await this.#options.pipes.take(folder.path, { owner: user, count: 3 });
    // Told before it starts: from there on it goes on when this process stands still.
    const guarded = guard.watch(cookie, trust);
    try {
      const end = await this.#start(pipes, mayStart, guarded);
      return end && (await this.#follow(pipes, end));
    } finally {
      guarded.ended();
      for (const { reader } of pipes) reader.destroy();
    }
  }

  /** Answers its end. Undefined: it may not start any more. */
  async #start(
    pipes: readonly NamedPipe[],
    mayStart: () => boolean,
    guarded: GuardedScript,
  ): Promise<{ readonly ended: Promise<LaunchEnd | undefined> } | undefined> {
    const { folder, launcher, stdinFile } = this.#options;
    let input: number | undefined;
    try {
      input = openSync(stdinFile, 'r');
      const descriptors = [input, ...pipes.map(({ writer }) => writer)];
      const launched = await launcher.launch(() => {
        if (!mayStart()) return undefined;
        folder.giveAway();
        return this.#order(descriptors);
      });
      if (!launched) return undefined;
      this.#root = launched.root;
      guarded.started(launched.root);
      // It was told to stop while it was being started.
      if (this.#stopping) this.#terminate(launched.root.pid);
      return { ended: launched.end };
    } finally {
      if (input !== undefined) closeSync(input);
      closeWriters(pipes);
    }
  }

  #order(descriptors: readonly number[]): LaunchOrder {
    const { containment, env, folder, user, cookie, trust } = this.#options;
    // Read first, so that it is too early if the worker stops right here.
    const nowMs = machineMs();
    return {
      command: commandLine(containment, this.#options),
      cwd: folder.path,
      ...environmentFor(containment, env, { [COOKIE_VARIABLE]: cookie }),
      user,
      isDetached: true,
      descriptors,
      last: containment.kind === 'namespace' ? 'told' : 'kept',
      beforeMs: trust && nowMs + trust.leftMs(),
    };
  }

  async #follow(
    pipes: readonly NamedPipe[],
    { ended }: { readonly ended: Promise<LaunchEnd | undefined> },
  ): Promise<ScriptEnd> {
    const [out, errors, control] = pipes.map(({ reader }) => reader);
    const oomKillsBefore = oomKills();
    const read = Promise.all([
      this.#pass(out!, (bytes) => this.#options.onOutput('stdout', bytes)),
      this.#pass(errors!, (bytes) => this.#options.onOutput('stderr', bytes)),
      this.#pass(control!, (bytes) => this.#options.onControl(bytes) as undefined),
    ]);
    const unwatch = this.#options.sampler.watch(this.#root!.pid, (use) => this.#judge(use));
    try {
      const end = await ended;
      this.#hasExited = true;
      this.#endTree({ isLost: !end });
      await this.#readRest(read, [out!, errors!, control!]);
      const failure = notStartedBy(end?.said ?? '');
      if (failure) throw failure;
      return {
        ...(this.#isKilled || !end ? { code: undefined, signal: 'SIGKILL' } : endOf(end.code, end.signal)),
        broken: this.#broken,
        sawOomKill: oomKills() > oomKillsBefore,
        cpuSeconds: childrenSeconds(end?.said ?? '') ?? this.#cpuSeconds,
        peakBytes: this.#peakBytes,
      };
    } finally {
      unwatch();
      clearTimeout(this.#killTimer);
    }
  }

  /** TERM to every process of it, then KILL. */
  stop(): void {
    if (this.#stopping || this.#hasExited) return;
    this.#stopping = true;
    if (this.#root) this.#terminate(this.#root.pid);
  }

  #terminate(pid: number): void {
    for (const info of this.#ofScript(pid)) signalTo(info.pid, 'SIGTERM');
    this.#killTimer = setTimeout(() => this.#kill(), this.#options.graceMs);
  }

  #pass(from: Readable, to: (bytes: Buffer) => Promise<void> | undefined): Promise<void> {
    return new Promise((resolve) => {
      from.on('data', (bytes: Buffer) => {
        const full = to(bytes);
        if (!full) return;
        from.pause();
        this.#blocked += 1;
        void full.finally(() => {
          this.#blocked -= 1;
          from.resume();
        });
      });
      from.once('error', () => resolve());
      from.once('close', () => resolve());
    });
  }

  /** What the log does not take yet is waited for; what nobody writes any more is not. */
  async #readRest(read: Promise<unknown>, pipes: readonly Readable[]): Promise<void> {
    let isRead = false;
    const done = read.then(() => (isRead = true));
    for (let waitedMs = 0; !isRead && waitedMs < AFTER_EXIT_MS; ) {
      const before = this.#blocked;
      await Promise.race([done, new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
      if (before === 0 && this.#blocked === 0) waitedMs += POLL_MS;
    }
    if (!isRead) for (const pipe of pipes) pipe.destroy();
  }

  #judge({ memoryBytes, cpuSeconds, processes }: TreeUse): void {
    if (this.#options.containment.kind === 'group')
      for (const info of processes) this.#seen.set(info.pid, info);
    this.#peakBytes = Math.max(this.#peakBytes ?? 0, memoryBytes);
    this.#cpuSeconds = Math.max(this.#cpuSeconds ?? 0, cpuSeconds);
    const { limits } = this.#options;
    if (memoryBytes > limits.memoryBytes) this.#breakLimit('memory');
    else if (limits.cpuSeconds > 0 && cpuSeconds > limits.cpuSeconds) this.#breakLimit('cpu');
    // The shells around the script are not its own.
    else if (processes.length > limits.processes + 3) this.#breakLimit('processes');
  }

  #breakLimit(which: BrokenLimit): void {
    if (this.#broken || this.#hasExited) return;
    this.#broken = which;
    this.#kill();
  }

  #kill(): void {
    const pid = this.#root?.pid;
    if (pid === undefined || this.#hasExited) return;
    this.#isKilled = true;
    if (this.#options.containment.kind === 'group') {
      this.#sweep(pid);
      return;
    }
    // The first process of the namespace ends only when all others have ended.
    const init = ProcessTable.read().childrenOf(pid)[0];
    signalTo(init?.pid ?? pid, 'SIGKILL');
    // It was about to start its first process.
    this.#killTimer = setTimeout(() => this.#kill(), KILL_AGAIN_MS);
  }

  /** After its end: a namespace is empty by then, a group may not be; nothing is certain when the launcher was lost. */
  #endTree({ isLost }: { isLost: boolean }): void {
    if (this.#options.containment.kind === 'group' || isLost) this.#sweep(this.#root!.pid);
  }

  /** The processes of the script, without those that contain it. */
  #ofScript(pid: number): readonly ProcessInfo[] {
    const table = ProcessTable.read();
    if (this.#options.containment.kind === 'group') return processesOf(this.#tree(), table);
    const [init] = table.childrenOf(pid);
    if (!init) return table.treeOf(pid);
    return table.treeOf(init.pid).slice(1);
  }

  #sweep(pid: number): void {
    killTree(this.#tree());
    // Where there is no /proc, and what is in the group though its leader has gone.
    signalTo(-pid, 'SIGKILL');
  }

  #tree(): ScriptTree {
    return { cookie: this.#options.cookie, root: this.#root, seen: [...this.#seen.values()] };
  }
}

/** The first process of a namespace answers a signal of the script as 128 and its number, as shells do. */
function endOf(code: number | null, signal: string | null): Pick<ScriptEnd, 'code' | 'signal'> {
  if (signal !== null) return { code: undefined, signal };
  const name = code !== null && code > INIT_SIGNAL_BASE ? signalName(code - INIT_SIGNAL_BASE) : undefined;
  return { code: code ?? undefined, signal: name };
}

/** How often the kernel has killed a process of this machine for want of memory. */
function oomKills(): number {
  try {
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The second line of `times`: what children used, user and system, as 1m2.50s. */
function childrenSeconds(times: string): number | undefined {
  const [, user, system] = /^.*\n(\S+) (\S+)/.exec(times) ?? [];
  const [own, kernel] = [user, system].map((text) => {
    const [, minutes, seconds] = /^(\d+)m([\d.]+)s$/.exec(text ?? '') ?? [];
    return Number(minutes) * 60 + Number(seconds);
  });
  const sum = own! + kernel!;
  return Number.isNaN(sum) ? undefined : sum;
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

function signalName(number: number): string | undefined {
  return SIGNALS.get(number as never);
}
