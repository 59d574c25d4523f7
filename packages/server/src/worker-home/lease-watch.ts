/**
 * Looks for leases of a worker that never reached it. Apart from the heartbeat: these queries may be slow or fail while the worker stays
 * trusted (hazard 29). What the worker holds is checked by the LeaseChecks of its server.
 *
 * The search for leases that never arrived reads all leases of the worker as long as that is quick. While it is slow, because an old
 * snapshot keeps settled leases from being vacuumed, a search begins where the last one ended; full searches, which also find
 * what was claimed by a clock that was set meanwhile, become rare.
 */
import type { LeaseId, WorkerId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';

export interface LeaseWatchOptions {
  readonly members: MemberStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
  readonly workerId: () => WorkerId;
  /** The stream of the worker that this is about; 0 when it has none. */
  readonly session: number;
  /** Leases with runs that still have to be reported. */
  readonly unreported: () => readonly LeaseId[];
  /** Gives them back. Called once for each lease. */
  readonly onUnreceived: (runs: readonly UnreceivedRun[]) => void;
}

/** A claim commits later than the instant it names, by at most its time limit and retries. */
const LATE_CLAIM_MS = 60_000;
/** Full searches take at most this share of the time, and are at most this far apart. */
const FULL_SEARCH_SHARE = 0.05;
const FULL_SEARCH_PAUSE_MS_MAX = 120_000;
/** Given-up leases that are remembered: more than claims can be under way. */
const GIVEN_UP_MAX = 1_000;

export class LeaseWatch implements Service {
  readonly #options: LeaseWatchOptions;
  readonly #loop: Loop;
  #hasWaited = false;
  #isStopped = false;
  #fullSearchAt = Number.NEGATIVE_INFINITY;
  /** Everything that this worker was given before this instant has arrived or was given up. */
  #known: { readonly workerId: WorkerId; readonly untilMs: number } | undefined;
  /** Leases whose runs were returned because they had not arrived: should they arrive later, their runs belong to other workers. */
  readonly #givenUp = new Set<LeaseId>();

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
    const idleMs = options.silentMs;
    this.#loop = new Loop({ ...options, name: 'unreceived leases', idleMs, runOnce: () => this.#pass() });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop.stop();
  }

  /** A batch of such a lease that arrives after all must not be started. */
  wasGivenUp(leaseId: LeaseId): boolean {
    return this.#givenUp.has(leaseId);
  }

  /** The worker has said its last word: whatever the storage still has for it goes back (LEASE-15). Answers how many runs. */
  async giveUpAll(): Promise<number> {
    const { members, session, workerId, unreported: holding } = this.#options;
    const left = await members.unreceivedRuns({
      ...{ workerId: workerId(), session, holding: holding(), fromMs: 0 },
    });
    this.#giveUp(left);
    return left.length;
  }

  async runOnce(): Promise<undefined> {
    await this.#findUnreceived();
    return undefined;
  }

  /** What is claimed for a worker that has just come is on its way. */
  async #pass(): Promise<undefined> {
    if (this.#hasWaited) await this.runOnce();
    this.#hasWaited = true;
    return undefined;
  }

  async #findUnreceived(): Promise<void> {
    const { members, clock, silentMs, session, workerId: nameOf, unreported } = this.#options;
    const workerId = nameOf();
    const nowMs = clock.now();
    // A lease that was claimed just now may be on its way, also one claimed by a clock that was set back a little since.
    const onItsWayMs = silentMs / 2;
    const untilMs = nowMs - onItsWayMs;
    const askedAt = clock.monotonic();
    const isFull = this.#known?.workerId !== workerId || askedAt >= this.#fullSearchAt;
    // Not after the present instant, should the clock have been set back.
    const fromMs = isFull ? 0 : Math.min(this.#known!.untilMs, untilMs) - LATE_CLAIM_MS;
    const asked = { workerId, session, holding: unreported() };
    try {
      this.#giveUp([
        ...(await members.unreceivedRuns({ ...asked, fromMs, untilMs })),
        ...(await members.unreceivedRuns({ ...asked, fromMs: nowMs + onItsWayMs + 1 })),
      ]);
      this.#known = { workerId, untilMs };
    } finally {
      if (isFull) this.#fullSearchAt = nextFullSearchAt(askedAt, clock.monotonic());
    }
  }

  /** LEASE-11: runs that were claimed for the worker and never arrived. */
  #giveUp(runs: readonly UnreceivedRun[]): void {
    // They may have arrived meanwhile.
    const arrived = new Set(this.#options.unreported());
    const missing = runs.filter(({ leaseId }) => !arrived.has(leaseId) && !this.#givenUp.has(leaseId));
    // After the end of a stream the worker may have another home, which hands it leases that are not known here.
    if (missing.length === 0 || this.#isStopped) return;
    for (const { leaseId } of missing) this.#givenUp.add(leaseId);
    for (const leaseId of this.#givenUp) {
      if (this.#givenUp.size <= GIVEN_UP_MAX) break;
      this.#givenUp.delete(leaseId);
    }
    this.#options.log.warn({ runs: missing.length }, 'giving back runs that never arrived');
    this.#options.onUnreceived(missing);
  }
}

function nextFullSearchAt(askedAt: number, answeredAt: number): number {
  return answeredAt + Math.min((answeredAt - askedAt) / FULL_SEARCH_SHARE, FULL_SEARCH_PAUSE_MS_MAX);
}
