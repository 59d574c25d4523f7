/**
 * One server of the cluster: the same folder and port through all its processes. It remembers when it was disturbed, so that
 * what looks like a double execution can be told from a zombie that was cut off from the world.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  launchServer,
  type ServerProcess,
  type ServerProcessOptions,
} from '../../support/start-server-process.ts';

const CLEAN_EXIT_MS_MAX = 120_000;

export interface Disturbance {
  readonly kind: 'kill' | 'pause';
  readonly fromMs: number;
  toMs: number;
}

export class Member {
  readonly name: string;
  readonly disturbances: Disturbance[] = [];
  /** Ends of processes that nobody asked for, and clean stops that were not clean. */
  readonly mishaps: string[] = [];
  readonly #options: ServerProcessOptions;
  #process: ServerProcess;
  #busy = false;

  constructor(options: ServerProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#process = this.#launch();
  }

  get process(): ServerProcess {
    return this.#process;
  }

  /** Something is being done to it. */
  get busy(): boolean {
    return this.#busy;
  }

  async nodeId(): Promise<string> {
    return (await readFile(join(this.#process.dataDir, 'node.id'), 'utf8')).trim();
  }

  wasDisturbedWithin(fromMs: number, toMs: number): boolean {
    return this.disturbances.some((one) => one.fromMs <= toMs && one.toMs >= fromMs);
  }

  kill(downMs: number): Promise<void> {
    return this.#while(async () => {
      const now = performance.now();
      this.disturbances.push({ kind: 'kill', fromMs: now, toMs: now });
      await this.#process.kill();
      await pause(downMs);
      this.#process = this.#launch();
    });
  }

  pause(ms: number): Promise<void> {
    return this.#while(async () => {
      const disturbance: Disturbance = { kind: 'pause', fromMs: performance.now(), toMs: Infinity };
      this.disturbances.push(disturbance);
      this.#process.signal('SIGSTOP');
      await pause(ms);
      this.#process.signal('SIGCONT');
      disturbance.toMs = performance.now();
    });
  }

  restart(): Promise<void> {
    return this.#while(async () => {
      await this.stop();
      this.#process = this.#launch();
    });
  }

  async stop(): Promise<void> {
    const leaving = this.#process;
    this.#busy = true;
    const { code, signal } = await leaving.stop(CLEAN_EXIT_MS_MAX);
    // Told before it could listen to signals, it simply ends: nothing was started yet.
    if (code !== 0 && signal !== 'SIGTERM')
      this.mishaps.push(`${this.name} was asked to stop and ended with ${code ?? signal}`);
  }

  #launch(): ServerProcess {
    const launched = launchServer(this.#options);
    void launched.exited.then(({ code, signal }) => {
      if (!this.#busy) this.mishaps.push(`${this.name} ended by itself with ${code ?? signal}`);
    });
    return launched;
  }

  async #while(action: () => Promise<void>): Promise<void> {
    this.#busy = true;
    try {
      await action();
    } finally {
      this.#busy = false;
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
