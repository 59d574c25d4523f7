/** One worker of the chaos test, through all its processes: killed and started again, stopped, and cut off from both servers. */
import { signalProcess } from '../../../support/processes.ts';
import { CuttableProxy } from '../cuttable-proxy.ts';
import { WorkerProcess, type WorkerProgram } from '../worker-process.ts';

export interface VisitorOptions {
  readonly language: string;
  readonly program: WorkerProgram;
  readonly folder: string;
  readonly key: string;
  readonly ports: readonly number[];
  readonly slots: number;
}

export class Visitor {
  readonly language: string;
  /** When it was stopped, on the clock of performance.now(). */
  readonly stops: { readonly fromMs: number; toMs: number }[] = [];
  /** Ends that nobody asked for. */
  readonly mishaps: string[] = [];
  readonly #options: VisitorOptions;
  readonly #proxies: readonly CuttableProxy[];
  #process: WorkerProcess;
  #isLeaving = false;

  private constructor(options: VisitorOptions, proxies: readonly CuttableProxy[]) {
    this.language = options.language;
    this.#options = options;
    this.#proxies = proxies;
    this.#process = this.#launch();
  }

  static async start(options: VisitorOptions): Promise<Visitor> {
    const proxies = await Promise.all(options.ports.map((port) => new CuttableProxy(port).start()));
    return new Visitor(options, proxies);
  }

  /** kill -9 of the worker alone: what it started has to end by itself. */
  async kill(downMs: number): Promise<void> {
    this.#isLeaving = true;
    this.#process.signal('SIGKILL');
    await this.#process.exited;
    await pause(downMs);
    this.#isLeaving = false;
    this.#process = this.#launch();
  }

  /** The worker alone, or with the processes of its runs, as when the machine is suspended. */
  async stop(ms: number, isWhole: boolean): Promise<void> {
    const stop = { fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
    this.stops.push(stop);
    const pids = isWhole ? await this.#process.tree() : [this.#process.pid];
    for (const pid of pids) signalProcess(pid, 'SIGSTOP');
    await pause(ms);
    for (const pid of pids) signalProcess(pid, 'SIGCONT');
    stop.toMs = performance.now();
  }

  /** Connections end at once, and none is made for so long. */
  async cut(ms: number): Promise<void> {
    for (const proxy of this.#proxies) proxy.cut();
    await pause(ms);
    for (const proxy of this.#proxies) proxy.mend();
  }

  /** With what it runs: nothing is left to be done. */
  async end(): Promise<void> {
    this.#isLeaving = true;
    this.#process.signal('SIGKILL');
    await this.#process.exited;
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }

  #launch(): WorkerProcess {
    const { language, program, folder, key, slots } = this.#options;
    const launched = new WorkerProcess({
      ...{ program, folder, key, slots, name: language, environment: { VISITOR: language } },
      servers: this.#proxies.map((proxy) => proxy.address),
    });
    void launched.exited.then((code) => {
      if (!this.#isLeaving) this.mishaps.push(`the worker in ${language} ended by itself with ${code}`);
    });
    return launched;
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
