/**
 * The storage as one process sees it: every call is a journey there and back. It may take long, fail on the way there (not
 * applied), fail on the way back (applied, and nobody knows), wait for a lock until its time is over, or be the last thing the
 * process does. Arguments and effects are the real ones; only the journey is made up.
 */
import type { JobId } from '@carillon/domain';
import {
  type Storage,
  StorageTimeout,
  StorageUnavailable,
} from '../../packages/server/src/storage/storage.ts';
import type { FaultProfile } from './fault-profile.ts';
import type { Observer } from './observer.ts';
import type { ProcessGate } from './process-gate.ts';
import type { StorageLocks } from './storage-locks.ts';
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
  readonly locks: StorageLocks;
  readonly crash: () => void;
}

/** A refused connection fails at once, one that hangs at its timeout. */
const HANG_MS_MAX = 5_000;
/** How long a call may run or wait for a lock. */
const TIME_LIMIT_MS = 5_000;
/** What may come a second time, from a server that stood still while another took its place. */
const COMES_AGAIN = 'runState.saveCheckpoints';
const AGAIN_SHARE = 0.2;
const AGAIN_MS_MAX = 20_000;

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

/** The way back. */
interface Way {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly answer: (deliver: () => void, delayMs: number) => void;
  readonly backMs: number;
  readonly profile: FaultProfile;
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
      const way = { resolve, reject, answer, backMs, profile };
      world.clock.timer(thereMs, () => {
        if (this.#options.outage()) {
          const delayMs = chance.happens(0.5) ? 0 : chance.between(0, HANG_MS_MAX);
          answer(() => reject(this.#unavailable('is down')), delayMs);
        } else if (chance.happens(profile.failBefore)) {
          this.#note('fails, not applied');
          answer(() => reject(this.#unavailable('broke off')), backMs);
        } else if (chance.happens(profile.timeoutBefore)) {
          this.#note('times out, not applied');
          answer(() => reject(this.#timeout()), chance.between(0, TIME_LIMIT_MS));
        } else this.#passLocks(way);
      });
    });
  }

  /** As long as somebody holds locked what it needs, it waits; at most until its time is over. */
  #passLocks(way: Way): void {
    const { world, locks } = this.#options;
    const { call, args } = this.#call;
    const waitMs = Math.min(locks.waitMs(call, args), TIME_LIMIT_MS);
    const arrive = () => void this.#apply(way.profile).then(...this.#returning(way));
    const arriveOrTimeOut = () => {
      if (locks.waitMs(call, args) === 0) {
        arrive();
        return;
      }
      this.#note('waits for a lock until it times out');
      way.answer(() => way.reject(this.#timeout()), way.backMs);
    };
    if (waitMs === 0) arrive();
    else world.clock.timer(waitMs, arriveOrTimeOut);
  }

  async #apply(profile: FaultProfile): Promise<unknown> {
    const { observer, world, name } = this.#options;
    const { call, args } = this.#call;
    const result = this.#withLocked(await this.#call.apply());
    observer.applied({ name, call, args, result, sentMs: this.#sentMs });
    if (call === COMES_AGAIN && world.chance.happens(AGAIN_SHARE)) this.#comeAgain();
    if (world.chance.happens(profile.crashAfter)) this.#crash('after');
    return result;
  }

  #comeAgain(): void {
    const { observer, world, name } = this.#options;
    const { call, args } = this.#call;
    const apply = async () => {
      const result = await this.#call.apply();
      this.#note('comes again');
      observer.applied({ name, call, args, result, sentMs: this.#sentMs });
    };
    world.clock.timer(world.chance.between(0, AGAIN_MS_MAX), () => void apply());
  }

  /** The storage in memory knows of no locks. Whether they are seen is chance, so that batches are halved as well. */
  #withLocked(result: unknown): unknown {
    const { locks, world } = this.#options;
    const { call, args } = this.#call;
    if (call !== 'leases.lockedJobs') return result;
    return new Set(world.chance.happens(0.5) ? locks.locked(args[0] as readonly JobId[]) : []);
  }

  #returning(way: Way): [(result: unknown) => void, (error: unknown) => void] {
    const { world, outage } = this.#options;
    return [
      (result) => {
        if (world.chance.happens(way.profile.failAfter) || outage()) {
          this.#note('applied, answer lost');
          way.answer(() => way.reject(this.#unavailable('broke off')), way.backMs);
        } else if (world.chance.happens(way.profile.timeoutAfter)) {
          this.#note('applied, and told to have timed out');
          way.answer(() => way.reject(this.#timeout()), way.backMs);
        } else way.answer(() => way.resolve(result), way.backMs);
      },
      (error) => way.answer(() => way.reject(error), way.backMs),
    ];
  }

  #travel({ slowCall, slowClaim, slowCallMsMax }: FaultProfile): [thereMs: number, backMs: number] {
    const { chance } = this.#options.world;
    const there = chance.between(0.2, 2);
    const back = chance.between(0.2, 2);
    const isSlow =
      chance.happens(slowCall) || (this.#call.call === 'leases.claim' && chance.happens(slowClaim));
    if (!isSlow) return [there, back];
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

  #timeout(): StorageTimeout {
    return new StorageTimeout('the call took too long');
  }
}
