/** When each worker was last heard, by the instants its heartbeats were sent: nobody is given up for dead before his time. */
import type { BootId, WorkerId } from '@carillon/domain';
import type { WorkerRecord } from '../../packages/server/src/storage/member-store.ts';
import type { World } from './world.ts';

interface WorkerAccount {
  readonly bootId: BootId;
  heardMs: number;
  dead: boolean;
  /** Of its newest stream. */
  readonly session: number;
}

/** Two clocks, each off by less than half a second. */
const CLOCK_ERROR_MS = 1_200;

export class WorkerLedger {
  readonly #world: World;
  readonly #silentMs: number;
  readonly #workers = new Map<WorkerId, WorkerAccount>();
  /** Workers on other machines that have said their last word, and have gone. */
  readonly #left = new Set<WorkerId>();

  constructor(world: World, silentMs: number) {
    this.#world = world;
    this.#silentMs = silentMs;
  }

  isDead(workerId: WorkerId): boolean {
    return this.#workers.get(workerId)?.dead ?? true;
  }

  registered({ workerId, bootId, session }: WorkerRecord, sentMs: number): void {
    const { dead = false } = this.#workers.get(workerId) ?? {};
    if (dead) this.#world.violate(`worker ${workerId} is dead and was registered as living`);
    this.#workers.set(workerId, { bootId, session, heardMs: sentMs, dead });
  }

  /** What was claimed for it has been given back before. */
  left(workerId: WorkerId, session: number): void {
    if (session > 0 && this.#workers.get(workerId)?.session === session) this.#left.add(workerId);
  }

  lost({ workerId, runId, jobId }: { workerId: WorkerId; runId: string; jobId: string }): void {
    if (this.#left.has(workerId))
      this.#world.violate(
        `run ${runId} of job ${jobId} was lost with worker ${workerId}, which had left in order`,
      );
  }

  /** A forgotten worker may come back under its name: it holds nothing that another could hold too. */
  forgotten(workers: readonly WorkerId[], holdsNothing: (workerId: WorkerId) => boolean): void {
    for (const workerId of workers) if (holdsNothing(workerId)) this.#workers.delete(workerId);
  }

  beat(workerId: WorkerId, alive: boolean, sentMs: number): void {
    const worker = this.#workers.get(workerId);
    if (!worker) return;
    if (alive && worker.dead) this.#world.violate(`worker ${workerId} is dead and was answered as living`);
    if (alive) worker.heardMs = Math.max(worker.heardMs, sentMs);
  }

  markedDead({ ended }: { ended: readonly BootId[] }, dead: readonly WorkerId[]): void {
    for (const workerId of dead) {
      const worker = this.#workers.get(workerId);
      if (!worker || worker.dead) continue;
      worker.dead = true;
      this.#world.trace.add(workerId, 'is given up for dead');
      const outlived = ended.includes(worker.bootId);
      const silentMs = this.#world.nowMs - worker.heardMs;
      if (!outlived && silentMs < this.#silentMs - CLOCK_ERROR_MS) {
        this.#world.violate(`worker ${workerId} was marked dead after ${Math.round(silentMs)} ms of silence`);
      }
    }
  }
}
