/**
 * What each process has begun and nobody has recorded: what would be repeated if it died now. Kept from starts of handlers and from
 * settlements that were applied, so that nothing rests on what the process itself counts (SIM-10).
 */
import type { RunContext } from '@carillon/worker';
import type { Claim } from './run-ledger.ts';
import type { World } from './world.ts';

export interface BoundedProcess {
  readonly name: string;
  /** Runs that execute or whose outcome is not recorded yet. */
  readonly unrecordedMax: number;
}

export class UnrecordedLedger {
  readonly #world: World;
  readonly #beganIn = new Map<string, BoundedProcess>();
  readonly #counts = new Map<BoundedProcess, number>();
  #most = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The most that any process ever had. */
  get most(): number {
    return this.#most;
  }

  began(run: Pick<RunContext, 'runId' | 'epoch'>, process: BoundedProcess): void {
    this.#beganIn.set(keyOf(run), process);
    const count = (this.#counts.get(process) ?? 0) + 1;
    this.#counts.set(process, count);
    this.#most = Math.max(this.#most, count);
    const { name, unrecordedMax } = process;
    if (count > unrecordedMax)
      this.#world.violate(
        `${name} has begun ${count} runs that are not recorded, and may have ${unrecordedMax}`,
      );
  }

  /** By whomever. */
  recorded(claim: Claim): void {
    const process = this.#beganIn.get(keyOf(claim));
    if (!process) return;
    this.#beganIn.delete(keyOf(claim));
    this.#counts.set(process, this.#counts.get(process)! - 1);
  }
}

function keyOf({ runId, epoch }: Pick<RunContext, 'runId' | 'epoch'>): string {
  return `${runId}/${epoch}`;
}
