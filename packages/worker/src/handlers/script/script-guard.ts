/**
 * The worker's side of its guard: starts it with the first script, tells it of each answered beat and of each script, and starts another
 * when it has ended. A process has one, whatever it runs. Only Linux says which process is which, so that only there is a guard.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { RunTrust } from '../../worker-trust.ts';
import { GUARD_PROGRAM, type GuardLine, machineAheadMs, machineMs } from './guard-program.ts';
import type { ProcessIdentity } from './process-tree.ts';

export interface GuardedScript {
  started(root: ProcessIdentity): void;
  /** Nothing of it is left. */
  ended(): void;
}

interface Told {
  readonly cookie: string;
  readonly trust: number | undefined;
  root?: ProcessIdentity | undefined;
}

interface Watched {
  readonly id: number;
  readonly stop: () => void;
  runs: number;
}

/** A guard that ends soon after each start is not started all the time. */
const [START_MS_MIN, START_MS_MAX] = [1_000, 60_000];
const START = 'import(process.argv[1]).then(({ guard }) => guard())';

export class ScriptGuard {
  readonly #runs = new Map<number, Told>();
  readonly #trusts = new Map<RunTrust, Watched>();
  #child: ChildProcess | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Between the last start and the next. */
  #pauseMs = START_MS_MIN;
  #again: NodeJS.Timeout | undefined;
  #lastId = 0;
  readonly #onTold: ((line: string) => void) | undefined;

  /** For tests: told hears what the guard is told. */
  constructor({ told }: { readonly told?: (line: string) => void } = {}) {
    this.#onTold = told;
  }

  /** Undefined: none runs now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Before the script starts. Without trust: until the worker ends. */
  watch(cookie: string, trust: RunTrust | undefined): GuardedScript {
    if (process.platform !== 'linux') return { started() {}, ended() {} };
    const id = this.#nextId();
    const told: Told = { cookie, trust: trust && this.#watchTrust(trust) };
    this.#runs.set(id, told);
    if (this.#child) this.#tellRun(id, told);
    else this.#start();
    return {
      started: ({ pid, startedAt }) => {
        told.root = { pid, startedAt };
        this.#tell({ is: 'started', run: id, pid, startedAt });
      },
      ended: () => {
        if (!this.#runs.delete(id)) return;
        this.#tell({ is: 'ended', run: id });
        if (trust) this.#unwatchTrust(trust);
      },
    };
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #watchTrust(trust: RunTrust): number {
    const known = this.#trusts.get(trust);
    if (known) {
      known.runs += 1;
      return known.id;
    }
    const id = this.#nextId();
    const stop = trust.onChanged(() => this.#tellTrust(id, trust));
    this.#trusts.set(trust, { id, stop, runs: 1 });
    this.#tellTrust(id, trust);
    return id;
  }

  #unwatchTrust(trust: RunTrust): void {
    const watched = this.#trusts.get(trust);
    if (!watched) return;
    watched.runs -= 1;
    if (watched.runs > 0) return;
    watched.stop();
    this.#trusts.delete(trust);
    this.#tell({ is: 'untrusted', trust: watched.id });
  }

  #start(): void {
    clearTimeout(this.#again);
    const sinceMs = performance.now() - this.#startedAt;
    if (sinceMs < this.#pauseMs) {
      this.#again = setTimeout(() => this.#restart(), this.#pauseMs - sinceMs).unref();
      return;
    }
    this.#pauseMs = sinceMs < 2 * this.#pauseMs ? Math.min(2 * this.#pauseMs, START_MS_MAX) : START_MS_MIN;
    this.#startedAt = performance.now();
    const child = spawn(process.execPath, ['--input-type=module', '-e', START, GUARD_PROGRAM], {
      ...{ cwd: '/', env: {}, detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
    });
    this.#child = child;
    const onGone = () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#restart();
    };
    child.once('error', onGone).once('exit', onGone);
    // Its end is told by the event above.
    child.stdin?.on('error', () => undefined);
    // The worker does not wait for it.
    child.unref();
    (child.stdin as { unref?: () => void } | null)?.unref?.();
    for (const [trust, { id }] of this.#trusts) this.#tellTrust(id, trust);
    for (const [id, told] of this.#runs) this.#tellRun(id, told);
  }

  #restart(): void {
    if (this.#runs.size > 0 && !this.#child) this.#start();
  }

  /** As an instant of a clock that the guard reads too. Read first, so that it is too early if the worker stops right here. */
  #tellTrust(id: number, trust: RunTrust): void {
    const nowMs = machineMs();
    const aheadMs = machineAheadMs();
    this.#tell({ is: 'trust', trust: id, untilMs: nowMs + trust.leftMs(), aheadMs });
  }

  #tellRun(id: number, { cookie, trust, root }: Told): void {
    this.#tell({ is: 'starting', run: id, cookie, ...(trust !== undefined && { trust }) });
    if (root) this.#tell({ is: 'started', run: id, ...root });
  }

  /** Written at once: the guard reads a line of it even if the worker stands still from here on. */
  #tell(line: GuardLine): void {
    const text = `${JSON.stringify(line)}\n`;
    this.#child?.stdin?.write(text);
    this.#onTold?.(text);
  }
}

/** Of this process. */
export const scriptGuard = new ScriptGuard();
