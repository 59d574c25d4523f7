/**
 * Who really ran what: written by the handlers themselves, so that what the storage believes can be compared with it. One
 * handing-out is executed at most once; one run is executed twice at the same time only when the earlier execution was told
 * to stop, or could not be told because its process stood still or was replaced by another.
 */
import type { RunContext } from '@carillon/worker';
import type { Observer } from './observer.ts';
import type { World } from './world.ts';

export interface ExecutingProcess {
  readonly name: string;
  readonly slots: number;
  readonly unrecordedMax: number;
  readonly dead: boolean;
  /** When it last stood still; -Infinity when it never did. */
  readonly lastPauseEndMs: number;
  /** Another process runs under its name, and has taken its runs; it learns of that with its next heartbeat. */
  readonly replaced: boolean;
  /** It has said its last word. */
  readonly hasLeft?: boolean;
}

interface Execution {
  readonly context: RunContext;
  readonly process: ExecutingProcess;
  readonly startedMs: number;
}

/** A process that stood still may begin what it was handed before, by answers as old as a call can be. */
const PAUSE_FELT_MS = 35_000;

export class ExecutionLog {
  readonly #world: World;
  readonly #observer: Observer;
  readonly #running = new Map<string, Set<Execution>>();
  readonly #byProcess = new Map<ExecutingProcess, number>();
  readonly #started = new Set<string>();

  constructor(world: World, observer: Observer) {
    this.#world = world;
    this.#observer = observer;
  }

  /** Answers the way to tell its end. */
  start(context: RunContext, process: ExecutingProcess): (how: 'returned' | 'threw') => void {
    const { runId, jobId, epoch, attempt } = context;
    const { name } = process;
    this.#world.trace.add(name, 'starts', [runId, jobId], { epoch, attempt });
    const key = `${runId}/${epoch}`;
    if (this.#started.has(key))
      this.#world.violate(`run ${runId} of job ${jobId}: epoch ${epoch} was executed twice`);
    this.#started.add(key);
    if (process.hasLeft)
      this.#world.violate(`run ${runId} of job ${jobId} is started by ${name}, which has said its last word`);
    this.#observer.started(context, process);
    const execution = { context, process, startedMs: this.#world.nowMs };
    const others = this.#running.get(runId) ?? new Set();
    for (const other of others) this.#checkOverlap(other, execution);
    this.#running.set(runId, others.add(execution));
    this.#count(process, 1);
    return (how) => {
      if (process.dead) return;
      others.delete(execution);
      this.#count(process, -1);
      const why = context.signal.aborted ? ` (told: ${(context.signal.reason as Error).message})` : '';
      this.#world.trace.add(name, `${how}${why}`, [runId, jobId], { epoch });
      if (how === 'threw' && !context.signal.aborted) this.#observer.failed(context);
    };
  }

  /** The one with the lower epoch is the one that was taken back, whichever of them began first. */
  #checkOverlap(one: Execution, other: Execution): void {
    const [stale, present] = one.context.epoch < other.context.epoch ? [one, other] : [other, one];
    const { context, process } = stale;
    if (process.dead || process.replaced || context.signal.aborted) return;
    if (process.lastPauseEndMs >= stale.startedMs - PAUSE_FELT_MS) return;
    const { runId, jobId, epoch } = context;
    this.#world.violate(
      `run ${runId} of job ${jobId} is executed at epoch ${present.context.epoch} by ${present.process.name} while ${process.name} executes epoch ${epoch} and was never told to stop`,
    );
  }

  #count(process: ExecutingProcess, by: number): void {
    const running = (this.#byProcess.get(process) ?? 0) + by;
    this.#byProcess.set(process, running);
    if (running > process.slots) {
      this.#world.violate(`${process.name} executes ${running} runs on ${process.slots} slots`);
    }
  }
}
