/**
 * The worker's side of its launcher: starts it with the first script, tells it what to start, and hears how that ended. A process has
 * one, whatever it runs. Where the launcher cannot open what the worker has open, the worker starts scripts itself, which is slower.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import {
  LAUNCHER_PROGRAM,
  type LaunchEnd,
  type LauncherLine,
  type LaunchOrder,
  type OrderLine,
  startOrder,
} from './launcher-program.ts';
import type { ProcessIdentity } from './process-tree.ts';

export interface Launched {
  readonly root: ProcessIdentity;
  /** Undefined: the launcher ended first. What it had started is killed, but may not have ended yet. */
  readonly end: Promise<LaunchEnd | undefined>;
}

interface Ordered {
  readonly started: PromiseWithResolvers<Launched>;
  readonly end: PromiseWithResolvers<LaunchEnd | undefined>;
}

const START = 'import(process.argv[1]).then(({ launch }) => launch())';
/** The smaller it is, the sooner it is copied. */
const SMALL = ['--max-semi-space-size=1'];

export class ScriptLauncher {
  readonly #canDelegate: boolean;
  readonly #ordered = new Map<number, Ordered>();
  #child: ChildProcess | undefined;
  /** Whether the launcher is of use. */
  #isUsable: Promise<boolean> | undefined;
  #lastId = 0;

  /** Only Linux lets one process open what another has open. */
  constructor(canDelegate = process.platform === 'linux') {
    this.#canDelegate = canDelegate;
  }

  /** Undefined: none runs now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** What to start is asked at the last moment. Resolves when it has been started, and its descriptors may be closed. */
  async launch(orderOf: () => LaunchOrder | undefined): Promise<Launched | undefined> {
    this.#isUsable ??= this.#start();
    const isUsable = await this.#isUsable;
    const order = orderOf();
    if (!order) {
      this.#refer();
      return undefined;
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const ordered: Ordered = { started: Promise.withResolvers(), end: Promise.withResolvers() };
    this.#ordered.set(id, ordered);
    this.#refer();
    const line: OrderLine = { ...order, id };
    if (!isUsable) startOrder(line, (answer) => this.#hear(answer));
    else if (this.#child) this.#child.stdin?.write(`${JSON.stringify(line)}\n`);
    else this.#lose(id);
    return ordered.started.promise;
  }

  /** Runs it to its end. Rejects when it could not be started. */
  async run(order: LaunchOrder): Promise<LaunchEnd | undefined> {
    const launched = await this.launch(() => order);
    return launched?.end;
  }

  #start(): Promise<boolean> {
    if (!this.#canDelegate) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const child = spawn(
      process.execPath,
      [...SMALL, '--input-type=module', '-e', START, LAUNCHER_PROGRAM],
      // In a session of its own: what stops the worker from a terminal must not stop its scripts.
      { cwd: '/', env: {}, detached: true, stdio: ['pipe', 'pipe', 'ignore'] },
    );
    this.#child = child;
    const onGone = () => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#isUsable = undefined;
      resolve(false);
      for (const id of [...this.#ordered.keys()]) this.#lose(id);
    };
    child.once('error', onGone).once('exit', onGone);
    // Its end is told by the events above.
    child.stdin?.on('error', () => undefined);
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = JSON.parse(line) as LauncherLine;
        if (answer.is === 'ready') resolve(answer.canOpen);
        else this.#hear(answer);
      }
    });
    (child.stdin as Socket | null)?.unref();
    child.unref();
    return promise;
  }

  #hear(line: LauncherLine): void {
    if (line.is === 'ready') return;
    const ordered = this.#ordered.get(line.id);
    if (!ordered) return;
    switch (line.is) {
      case 'started': {
        const { pid, startedAt } = line;
        ordered.started.resolve({ root: { pid, startedAt }, end: ordered.end.promise });
        return;
      }
      case 'failed':
        ordered.started.reject(Object.assign(new Error(line.message), { code: line.code }));
        break;
      case 'ended':
        ordered.end.resolve(line);
    }
    this.#ordered.delete(line.id);
    this.#refer();
  }

  #lose(id: number): void {
    const ordered = this.#ordered.get(id);
    this.#ordered.delete(id);
    ordered?.started.reject(new Error('the process that starts scripts has ended'));
    ordered?.end.resolve(undefined);
  }

  /** The worker waits for what was ordered, not for the launcher. */
  #refer(): void {
    const from = this.#child?.stdout as Socket | null | undefined;
    if (this.#ordered.size > 0) from?.ref();
    else from?.unref();
  }
}

/** Of this process. */
export const scriptLauncher = new ScriptLauncher();
