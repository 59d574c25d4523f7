/**
 * The heartbeat of every service: runs one pass, waits, runs the next; passes never overlap. A pass that throws is logged,
 * once a minute while it goes on, and tried again with growing, jittered pauses, so a dead database costs log lines and not a dead service.
 */
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';
import type { Random } from './random.ts';

/** Everything that is started and stopped. stop() resolves when nothing of it is left running. */
export interface Service {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

export interface LoopOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** One pass. Returns how long to wait for the next unless woken earlier; undefined means idleMs. */
  readonly runOnce: () => Promise<number | undefined>;
  readonly idleMs: number;
}

const ERROR_BACKOFF_MS_MIN = 50;
const ERROR_BACKOFF_MS_MAX = 2_000;
/** What goes on failing is told again after this long: a line for each try, of many loops, would hide everything else. */
const TOLD_MS = 60_000;

export class Loop implements Service {
  readonly #options: LoopOptions;
  #running: Promise<void> | undefined;
  #stopping = false;
  #woken = false;
  #rouse: (() => void) | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopping = false;
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#running;
    this.#running = undefined;
  }

  /** Asks for a pass soon; asked during a pass, one more follows it. */
  wake(): void {
    this.#woken = true;
    this.#rouse?.();
  }

  async #run(): Promise<void> {
    const { name, log, random, clock, runOnce, idleMs } = this.#options;
    let failures = 0;
    let toldAt = Number.NEGATIVE_INFINITY;
    while (!this.#stopping) {
      this.#woken = false;
      let waitMs: number;
      try {
        waitMs = (await runOnce()) ?? idleMs;
        failures = 0;
      } catch (error) {
        failures += 1;
        const backoffMs = Math.min(ERROR_BACKOFF_MS_MIN * 2 ** Math.min(failures, 10), ERROR_BACKOFF_MS_MAX);
        waitMs = backoffMs * (0.5 + random.next() / 2);
        // A wake-up does not shorten the pause after a failure: the reason to wake is still there afterwards.
        this.#woken = false;
        const facts = { loop: name, err: error, failures, waitMs };
        if (clock.monotonic() - toldAt >= TOLD_MS) {
          toldAt = clock.monotonic();
          log.warn(facts, 'a pass failed; trying again');
        } else log.debug(facts, 'a pass failed again');
      }
      if (!this.#stopping && !this.#woken) await this.#wait(waitMs);
    }
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.#rouse = undefined;
        resolve();
      };
      const cancel = this.#options.clock.timer(delayMs, done);
      this.#rouse = done;
    });
  }
}
