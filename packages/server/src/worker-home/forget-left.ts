/** What becomes of a worker that leaves: nothing stays claimed for it, and it is not kept in the list until its silence is noticed. */
import { type Clock, sleep } from '@carillon/foundation';
import type { MemberStore } from '../storage/member-store.ts';
import type { LocalWorkers } from '../worker-link/worker-link.ts';
import type { ReadHello } from './read-hello.ts';
import type { RemoteWorker } from './remote-worker.ts';

interface LeavingWorker {
  readonly worker: RemoteWorker;
  readonly hello: ReadHello;
  /** It has said its last word. Otherwise its stream may have broken, and it has what it was assigned. */
  readonly hasLeft: boolean;
  readonly members: Pick<MemberStore, 'forgetLeft'>;
  readonly link: Pick<LocalWorkers, 'whenUnreserved'>;
  readonly clock: Clock;
  readonly silentMs: number;
}

const PASSES_MAX = 3;

/**
 * LEASE-15. A claim for the worker may be under way: what it brings goes back first. The home of an earlier stream may claim for it
 * meanwhile: as long as the storage has something for the worker, it does not forget it, and that goes back too.
 */
export async function forgetLeft(leaving: LeavingWorker): Promise<void> {
  const { worker, hello, hasLeft, members, link, clock, silentMs } = leaving;
  const isOver = new AbortController();
  await Promise.race([link.whenUnreserved(worker.workerId), sleep(clock, silentMs, isOver.signal)]);
  isOver.abort();
  if (hasLeft) await worker.giveBackAll();
  for (let pass = 1; pass <= PASSES_MAX; pass += 1) {
    // What could not be given back is taken back when the worker has been silent for long enough.
    if (!(await worker.told())) return;
    await members.forgetLeft(hello);
    if (!hasLeft || (await worker.giveBackAll()) === 0) return;
  }
}
