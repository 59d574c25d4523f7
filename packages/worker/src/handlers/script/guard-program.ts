/**
 * The guard of a worker: a process beside it that ends its scripts when it cannot do so itself, because it stands still or has died
 * (hazard 14). The worker tells it by a pipe which scripts it runs, and until when it is trusted. The guard has a session of its own, so
 * that what stops the worker from a terminal does not stop the guard, and it ends with the worker.
 */
import { killTree, type ProcessIdentity } from './process-tree.ts';

export const GUARD_PROGRAM = import.meta.url;

/** One line of JSON each. A worker has one trust; a program with several workers has several. */
export type GuardLine =
  | { readonly is: 'trust'; readonly trust: number; readonly untilMs: number }
  /** No script rests on it any more. */
  | { readonly is: 'untrusted'; readonly trust: number }
  | { readonly is: 'starting'; readonly run: number; readonly cookie: string; readonly trust?: number }
  | ({ readonly is: 'started'; readonly run: number } & ProcessIdentity)
  | { readonly is: 'ended'; readonly run: number };

interface GuardedRun {
  readonly cookie: string;
  readonly trust: number | undefined;
  root: ProcessIdentity | undefined;
  /** For good: a worker that is trusted again has given its earlier runs up. */
  isGivenUp: boolean;
  /** Something of it may be alive. */
  isLeft: boolean;
}

const KILL_AGAIN_MS = 100;
const KILLS_AT_END_MAX = 50;
/** A service manager may tell the whole group to end: the worker decides when its scripts are over, and the pipe tells. */
const NOT_HEEDED = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Milliseconds by a clock that only grows, and that all processes of the machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** What the process runs. */
export function guard(): void {
  process.title = 'carillon-guard';
  for (const signal of NOT_HEEDED) process.on(signal, () => undefined);
  const guarded = new Guard();
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => guarded.read(text));
  process.stdin.once('error', () => guarded.end());
  process.stdin.once('end', () => guarded.end());
}

export class Guard {
  readonly #untilMs = new Map<number, number>();
  readonly #runs = new Map<number, GuardedRun>();
  #rest = '';
  #reads = 0;
  #timer: NodeJS.Timeout | undefined;

  read(text: string): void {
    this.#reads += 1;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(JSON.parse(line) as GuardLine);
    this.#arm();
  }

  /** For tests: what it remembers. */
  counts(): { readonly runs: number; readonly trusts: number } {
    return { runs: this.#runs.size, trusts: this.#untilMs.size };
  }

  /** The worker has ended, and all that it ran is to end. */
  end(): void {
    clearTimeout(this.#timer);
    for (const run of this.#runs.values()) run.isGivenUp = true;
    let kills = 0;
    const killAll = () => {
      kills += 1;
      if (!this.#killGivenUp() || kills === KILLS_AT_END_MAX) process.exit(0);
      setTimeout(killAll, KILL_AGAIN_MS);
    };
    killAll();
  }

  #take(line: GuardLine): void {
    switch (line.is) {
      case 'trust':
        this.#untilMs.set(line.trust, line.untilMs);
        return;
      case 'untrusted':
        this.#untilMs.delete(line.trust);
        return;
      case 'starting': {
        const { run, cookie, trust } = line;
        this.#runs.set(run, { cookie, trust, root: undefined, isGivenUp: false, isLeft: true });
        return;
      }
      case 'started': {
        const run = this.#runs.get(line.run);
        if (run) Object.assign(run, { root: { pid: line.pid, startedAt: line.startedAt }, isLeft: true });
        return;
      }
      case 'ended':
        this.#runs.delete(line.run);
    }
  }

  #arm(): void {
    clearTimeout(this.#timer);
    let inMs = Number.POSITIVE_INFINITY;
    const nowMs = machineMs();
    for (const run of this.#runs.values())
      inMs = Math.min(inMs, run.isGivenUp ? (run.isLeft ? KILL_AGAIN_MS : inMs) : this.#untilOf(run) - nowMs);
    if (Number.isFinite(inMs)) this.#timer = setTimeout(() => this.#look(), Math.max(0, inMs));
  }

  #untilOf({ trust }: GuardedRun): number {
    return this.#untilMs.get(trust ?? -1) ?? Number.POSITIVE_INFINITY;
  }

  /** A guard that stood still itself, or had to wait for the processor, first reads what the worker has said meanwhile. */
  #look(): void {
    const reads = this.#reads;
    setImmediate(() => {
      if (this.#reads === reads) this.#judge();
      this.#arm();
    });
  }

  #judge(): void {
    const nowMs = machineMs();
    for (const run of this.#runs.values()) run.isGivenUp ||= this.#untilOf(run) <= nowMs;
    this.#killGivenUp();
  }

  /** Whether anything was there to be killed. */
  #killGivenUp(): boolean {
    let isAnyLeft = false;
    for (const run of this.#runs.values()) {
      if (!run.isGivenUp || !run.isLeft) continue;
      run.isLeft = killTree(run) > 0;
      isAnyLeft ||= run.isLeft;
    }
    return isAnyLeft;
  }
}
