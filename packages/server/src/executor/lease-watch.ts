/**
 * What a worker has to learn about its leases: which runs somebody wants stopped, which leases the storage does not know, and which
 * never reached the worker. Apart from the heartbeat: these look-ups may be slow or fail while the worker goes on being trusted (hazard 29).
 *
 * What never arrived is looked for among everything as long as that is quick. While it is slow, because an old snapshot keeps
 * what was settled from being vacuumed, looks begin where the last one ended; those at everything, which also find what was
 * claimed by a clock that was set meanwhile, become rare.
 */
import type { LeaseId, RunId, WorkerId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';

export interface LeaseWatchOptions {
  readonly members: MemberStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
  readonly workerId: () => WorkerId;
  /** Leases with runs that still have to be reported. */
  readonly unreported: () => readonly LeaseId[];
  readonly onCancel: (runIds: readonly RunId[]) => void;
  readonly onUnreceived: (runs: readonly UnreceivedRun[]) => void;
  /** Stops what still runs of these leases, which the storage does not know; answers how many runs. */
  readonly onUnknown: (leases: readonly LeaseId[]) => number;
}

/** More than slots of most workers; the rest follows in further calls. */
const LEASES_PER_CALL = 500;
const PASSES_PER_LOOK = 5;
/** A claim commits later than the instant it names, by at most its time limit and retries. */
const LATE_CLAIM_MS = 60_000;
/** Looks at everything take at most this share of the time, and are that far apart at most. */
const WHOLE_LOOK_SHARE = 0.05;
const WHOLE_LOOK_PAUSE_MS_MAX = 120_000;

export class LeaseWatch implements Service {
  readonly #options: LeaseWatchOptions;
  readonly #loop: Loop;
  #passes = 0;
  #wholeLookAt = Number.NEGATIVE_INFINITY;
  /** Everything that this worker was given before this instant has arrived or was given up. */
  #known: { readonly workerId: WorkerId; readonly untilMs: number } | undefined;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
    const { clock, random, log, silentMs } = options;
    this.#loop = new Loop({
      ...{ name: 'leases', clock, random, log },
      idleMs: silentMs / 5,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  lookSoon(): void {
    this.#loop.wake();
  }

  async runOnce(): Promise<undefined> {
    this.#passes += 1;
    await this.#lookAtHeld();
    if (this.#passes % PASSES_PER_LOOK === 0) await this.#lookForUnreceived();
    return undefined;
  }

  async #lookAtHeld(): Promise<void> {
    const { members, unreported, onCancel } = this.#options;
    const leases = unreported();
    for (let from = 0; from < leases.length; from += LEASES_PER_CALL) {
      const part = leases.slice(from, from + LEASES_PER_CALL);
      onCancel(await members.cancelledRuns(part));
      this.#stopUnknown(await members.unknownLeases(part));
    }
  }

  /**
   * A lease is there as long as one of its runs was not settled, so of one that is not there nothing may still be running. If
   * something is, the storage was replaced by one that does not know of it, and gives the run to others (hazard 43).
   */
  #stopUnknown(leases: readonly LeaseId[]): void {
    const runs = leases.length === 0 ? 0 : this.#options.onUnknown(leases);
    if (runs === 0) return;
    this.#options.log.warn(
      { runs, leases: leases.length },
      'stopping runs that the database does not know any more: they were given to others, or it has lost its last moments (a failover or a restore)',
    );
  }

  async #lookForUnreceived(): Promise<void> {
    const { members, clock, silentMs, workerId: nameOf, unreported, onUnreceived } = this.#options;
    const workerId = nameOf();
    const nowMs = clock.now();
    // What was claimed just now may be on its way; so may what was claimed by a clock that has been set back a little since.
    const onItsWayMs = silentMs / 2;
    const untilMs = nowMs - onItsWayMs;
    const askedAt = clock.monotonic();
    const isWhole = this.#known?.workerId !== workerId || askedAt >= this.#wholeLookAt;
    // Not after the present instant, should the clock have been set back.
    const fromMs = isWhole ? 0 : Math.min(this.#known!.untilMs, untilMs) - LATE_CLAIM_MS;
    const asked = { workerId, holding: unreported() };
    try {
      onUnreceived([
        ...(await members.unreceivedRuns({ ...asked, fromMs, untilMs })),
        ...(await members.unreceivedRuns({ ...asked, fromMs: nowMs + onItsWayMs + 1 })),
      ]);
      this.#known = { workerId, untilMs };
    } finally {
      if (isWhole) this.#wholeLookAt = wholeLookAfter(askedAt, clock.monotonic());
    }
  }
}

function wholeLookAfter(askedAt: number, answeredAt: number): number {
  return answeredAt + Math.min((answeredAt - askedAt) / WHOLE_LOOK_SHARE, WHOLE_LOOK_PAUSE_MS_MAX);
}
