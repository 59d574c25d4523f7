/**
 * The guard of a worker: a process beside it that ends its scripts when it cannot do so itself, because it stands still or has died
 * (hazard 14). The worker tells it by a pipe which scripts it runs, and until when it is trusted. The guard has a session of its own, so
 * that what stops the worker from a terminal does not stop the guard, and it ends with the worker.
 */
import { AHEAD_MS_MAX, DOUBT_MS_MAX, endInDoubt } from '../../worker-trust.ts';
import { killTree, type ProcessIdentity } from './process-tree.ts';

export const GUARD_PROGRAM = import.meta.url;

/** One line of JSON each. A worker has one trust; a program with several workers has several. */
export type GuardLine =
  | { readonly is: 'trust'; readonly trust: number; readonly untilMs: number; readonly aheadMs: number }
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

/** Of a worker. aheadMs: how far the wall clock was ahead when it was told. */
interface GuardedTrust {
  readonly untilMs: number;
  readonly aheadMs: number;
}

/** A worker that is doubted ends its scripts after DOUBT_MS_MAX itself, and they have this long to end. */
const DOUBT_GRACE_MS = 2_000;
/** How often the clocks are compared while scripts run. */
const COMPARE_MS = 1_000;
const KILL_AGAIN_MS = 100;
const KILLS_AT_END_MAX = 50;
/** A service manager may tell the whole group to end: the worker decides when its scripts are over, and the pipe tells. */
const NOT_HEEDED = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Milliseconds by a clock that only grows, and that all processes of the machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** How far the wall clock is ahead of that one, which stands still while the machine is suspended. */
export function machineAheadMs(): number {
  return Date.now() - machineMs();
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
  readonly #doubtMs: number;
  readonly #trusts = new Map<number, GuardedTrust>();
  readonly #runs = new Map<number, GuardedRun>();
  #rest = '';
  #reads = 0;
  #timer: NodeJS.Timeout | undefined;

  /** doubtMs: how long a worker has to be trusted again after the clocks have parted. */
  constructor({ doubtMs = DOUBT_MS_MAX + DOUBT_GRACE_MS } = {}) {
    this.#doubtMs = doubtMs;
  }

  read(text: string): void {
    this.#reads += 1;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(JSON.parse(line) as GuardLine);
    this.#arm();
  }

  /** For tests: what it remembers. */
  counts(): { readonly runs: number; readonly trusts: number } {
    return { runs: this.#runs.size, trusts: this.#trusts.size };
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
        this.#trusts.set(line.trust, line);
        return;
      case 'untrusted':
        this.#trusts.delete(line.trust);
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
    if (this.#trusts.size > 0) inMs = COMPARE_MS;
    for (const run of this.#runs.values())
      inMs = Math.min(inMs, run.isGivenUp ? (run.isLeft ? KILL_AGAIN_MS : inMs) : this.#untilOf(run) - nowMs);
    if (Number.isFinite(inMs)) this.#timer = setTimeout(() => this.#look(), Math.max(0, inMs));
  }

  #untilOf({ trust }: GuardedRun): number {
    return this.#trusts.get(trust ?? -1)?.untilMs ?? Number.POSITIVE_INFINITY;
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
    this.#compareClocks(nowMs);
    for (const run of this.#runs.values()) run.isGivenUp ||= this.#untilOf(run) <= nowMs;
    this.#killGivenUp();
  }

  /** As the worker does it: where the wall clock ran ahead, the machine may have been suspended for longer than the trust lasts. */
  #compareClocks(nowMs: number): void {
    const aheadMs = machineAheadMs();
    for (const [trust, told] of this.#trusts) {
      const partedMs = aheadMs - told.aheadMs;
      if (partedMs <= AHEAD_MS_MAX) continue;
      const of = { now: nowMs, endsAt: told.untilMs, aheadMs: partedMs, doubtMs: this.#doubtMs };
      this.#trusts.set(trust, { untilMs: endInDoubt(of), aheadMs });
    }
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
