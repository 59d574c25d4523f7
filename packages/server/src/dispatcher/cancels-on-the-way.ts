/**
 * Cancels that come while a run is on its way: after it was claimed, and before its worker has it, such as while its secrets are read.
 * The checks of leases ask for what workers hold, and would find it only with the next look. It costs nothing while nothing is cancelled.
 */
import type { ClaimedBatch, RunId } from '@carillon/domain';
import { type Clock, type Log, sleep } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { MemberStore } from '../storage/member-store.ts';

export interface CancelsOnTheWayOptions {
  readonly signals: SignalBus;
  readonly members: Pick<MemberStore, 'cancelledRuns'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Of one claim that is under way. */
interface Heard {
  isAny: boolean;
  readonly runIds: Set<RunId>;
}

/** More than that in the time of a claim: as if any run was named. */
const HEARD_MAX = 1_000;
/** A storage that does not answer holds up no batch: the next look at the lease finds the cancel. */
const ANSWER_MS_MAX = 1_000;

export class CancelsOnTheWay {
  readonly #options: CancelsOnTheWayOptions;
  readonly #claims = new Set<Heard>();

  constructor(options: CancelsOnTheWayOptions) {
    this.#options = options;
    options.signals.on('cancel-requested', ({ runIds }) => {
      for (const heard of this.#claims) {
        heard.isAny ||= runIds.length === 0 || heard.runIds.size + runIds.length > HEARD_MAX;
        if (!heard.isAny) for (const runId of runIds) heard.runIds.add(runId);
      }
    });
  }

  /** A claim begins. */
  begin(): Heard {
    const heard: Heard = { isAny: false, runIds: new Set() };
    this.#claims.add(heard);
    return heard;
  }

  end(heard: Heard): void {
    this.#claims.delete(heard);
  }

  concern({ runs }: ClaimedBatch, heard: Heard): boolean {
    return heard.isAny || (heard.runIds.size > 0 && runs.some(({ runId }) => heard.runIds.has(runId)));
  }

  /** With the end of each run that was cancelled meanwhile: no handler is called for it. The storage decides, not the hint. */
  async endCancelled(batch: ClaimedBatch): Promise<ClaimedBatch> {
    const { members, clock, log } = this.#options;
    const isOver = new AbortController();
    try {
      const late = sleep(clock, ANSWER_MS_MAX, isOver.signal).then(() => []);
      const cancelled = await Promise.race([members.cancelledRuns([batch.leaseId]), late]);
      const wanted = new Set<RunId>(cancelled.map(({ runId }) => runId));
      if (wanted.size === 0) return batch;
      const failure = { kind: 'CANCELLED' } as const;
      const runs = batch.runs.map((run) => (wanted.has(run.runId) ? { ...run, failure } : run));
      return { ...batch, runs };
    } catch (error) {
      log.debug({ err: error }, 'could not find out which runs were cancelled before they were handed over');
      return batch;
    } finally {
      isOver.abort();
    }
  }
}
