/**
 * The storage as one process sees it: every call is a journey there and back. It may take long, fail on the way there (not
 * applied), fail on the way back (applied, and nobody knows), or be the last thing the process does. Arguments and effects
 * are the real ones; only the journey is made up.
 */
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import { StorageUnavailable } from '../../packages/server/src/storage/storage.ts';
import type { FaultProfile } from './fault-profile.ts';
import type { Observer } from './observer.ts';
import type { ProcessGate } from './process-gate.ts';
import { wrapPorts } from './storage-ports.ts';
import type { World } from './world.ts';

type Method = (...args: readonly unknown[]) => Promise<unknown>;

export interface FaultyStorageOptions {
  readonly world: World;
  readonly storage: Storage;
  readonly observer: Observer;
  readonly gate: ProcessGate;
  readonly name: string;
  readonly faults: () => FaultProfile;
  /** The storage does not answer anybody. */
  readonly outage: () => boolean;
  readonly crash: () => void;
}

/** A refused connection fails at once, one that hangs at its timeout. */
const HANG_MS_MAX = 5_000;

export function faultyStorage(options: FaultyStorageOptions): Storage {
  return wrapPorts(
    options.storage,
    (name, port) =>
      new Proxy(port, {
        get(target, method: string) {
          const real = Reflect.get(target, method) as Method;
          return (...args: readonly unknown[]) =>
            new Journey(options, {
              call: `${name}.${method}`,
              args,
              apply: () => real.apply(target, [...args]),
            }).go();
        },
      }),
  );
}

interface Call {
  readonly call: string;
  readonly args: readonly unknown[];
  readonly apply: () => Promise<unknown>;
}

class Journey {
  readonly #options: FaultyStorageOptions;
  readonly #call: Call;
  readonly #sentMs: number;

  constructor(options: FaultyStorageOptions, call: Call) {
    this.#options = options;
    this.#call = call;
    this.#sentMs = options.world.nowMs;
  }

  go(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { world, gate, faults } = this.#options;
      const { chance } = world;
      const profile = faults();
      if (gate.dead) return;
      if (chance.happens(profile.crashBefore)) return this.#crash('before');
      const [thereMs, backMs] = this.#travel(profile);
      const answer = (deliver: () => void, delayMs: number) =>
        world.clock.timer(delayMs, () => gate.enter(deliver));
      world.clock.timer(thereMs, () => {
        if (this.#options.outage()) {
          const delayMs = chance.happens(0.5) ? 0 : chance.between(0, HANG_MS_MAX);
          answer(() => reject(this.#unavailable('is down')), delayMs);
        } else if (chance.happens(profile.failBefore)) {
          this.#note('fails, not applied');
          answer(() => reject(this.#unavailable('broke off')), backMs);
        } else
          void this.#apply(profile).then(...this.#returning({ resolve, reject, answer, backMs, profile }));
      });
    });
  }

  async #apply(profile: FaultProfile): Promise<unknown> {
    const { observer, world, name } = this.#options;
    const { call, args } = this.#call;
    const result = await this.#call.apply();
    observer.applied({ name, call, args, result, sentMs: this.#sentMs });
    if (world.chance.happens(profile.crashAfter)) this.#crash('after');
    return result;
  }

  #returning(way: {
    resolve: (value: unknown) => void;
    reject: (error: unknown) => void;
    answer: (deliver: () => void, delayMs: number) => void;
    backMs: number;
    profile: FaultProfile;
  }): [(result: unknown) => void, (error: unknown) => void] {
    const { world, outage } = this.#options;
    return [
      (result) => {
        if (world.chance.happens(way.profile.failAfter) || outage()) {
          this.#note('applied, answer lost');
          way.answer(() => way.reject(this.#unavailable('broke off')), way.backMs);
        } else way.answer(() => way.resolve(result), way.backMs);
      },
      (error) => way.answer(() => way.reject(error), way.backMs),
    ];
  }

  #travel({ slowCall, slowCallMsMax }: FaultProfile): [thereMs: number, backMs: number] {
    const { chance } = this.#options.world;
    const there = chance.between(0.2, 2);
    const back = chance.between(0.2, 2);
    if (!chance.happens(slowCall)) return [there, back];
    const slowMs = chance.between(100, slowCallMsMax);
    this.#note(`slow by ${Math.round(slowMs)} ms`);
    return chance.happens(0.5) ? [there + slowMs, back] : [there, back + slowMs];
  }

  #crash(when: 'before' | 'after'): void {
    this.#note(`crashes ${when} it is applied`);
    this.#options.crash();
  }

  #note(what: string): void {
    const { world, observer, name } = this.#options;
    const { call, args } = this.#call;
    world.trace.add(name, `${call} ${what}`, observer.about(call, args));
  }

  #unavailable(why: string): StorageUnavailable {
    return new StorageUnavailable(`the storage ${why}`);
  }
}
