/** For tests of what hands runs to workers: one that keeps what it is given, with any number of slots. */
import type { ClaimedBatch, RunId, WorkerId } from '@carillon/domain';
import { newId } from '../storage/conformance/sample-job.ts';
import type { LocalWorker } from '../worker-link/worker-link.ts';

export class TestWorker implements LocalWorker {
  readonly workerId: WorkerId;
  readonly unrecordedLeft = Number.POSITIVE_INFINITY;
  readonly unrecordedCount = 0;
  slots: number;
  handlers: readonly string[];
  readonly namespaces: readonly string[] | undefined;
  handed: ClaimedBatch[] = [];

  constructor(over: Partial<Pick<LocalWorker, 'workerId' | 'slots' | 'handlers' | 'namespaces'>> = {}) {
    this.workerId = over.workerId ?? newId<WorkerId>();
    this.slots = over.slots ?? 10;
    this.handlers = over.handlers ?? ['http'];
    this.namespaces = over.namespaces;
  }

  get runs(): RunId[] {
    return this.handed.flatMap((batch) => batch.runs.map((run) => run.runId));
  }

  get runningCount(): number {
    return this.runs.length;
  }

  heldBy(): ReadonlyMap<number, number> {
    const held = new Map<number, number>();
    for (const { runs } of this.handed)
      for (const { namespaceKey: key = -1 } of runs) held.set(key, (held.get(key) ?? 0) + 1);
    return held;
  }

  accept(batch: ClaimedBatch): void {
    this.handed.push(batch);
  }
}
