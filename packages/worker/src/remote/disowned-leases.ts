/** Leases that are not the worker's any more while it still has runs of them: others may have been given these, and it claims no end of them. */
import type { LeaseId } from '@carillon/domain';
import type { ReportAnswer, RunReport } from '../runtime/worker-home.ts';

type HeldRuns = ReadonlyMap<LeaseId, ReadonlySet<number>>;

export class DisownedLeases {
  #leases: ReadonlySet<LeaseId> = new Set();

  /** held: what the worker has; the others are forgotten. */
  add(leases: readonly LeaseId[], held: readonly LeaseId[]): void {
    const gone = new Set([...this.#leases, ...leases]);
    this.#leases = new Set(held.filter((lease) => gone.has(lease)));
  }

  without(held: HeldRuns): HeldRuns {
    if (this.#leases.size === 0) return held;
    return new Map([...held].filter(([leaseId]) => !this.#leases.has(leaseId)));
  }

  /** Tells the other reports; answers all of them in order. */
  async ended(
    reports: readonly RunReport[],
    tell: (own: readonly RunReport[]) => Promise<readonly ReportAnswer[]>,
  ): Promise<readonly ReportAnswer[]> {
    const own = reports.filter(({ run }) => !this.#leases.has(run.leaseId));
    if (own.length === reports.length) return tell(reports);
    const answers = own.length === 0 ? [] : await tell(own);
    const answerOf = new Map(own.map((report, i) => [report, answers[i]!]));
    return reports.map((report) => answerOf.get(report) ?? 'stale');
  }
}
