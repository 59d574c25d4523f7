/** Breaks something every few seconds, in an order that follows from a seed, until it is told to stop; then everything heals. */
import { SeededRandom } from '@carillon/foundation';
import type { OwnPostgres } from '../../support/own-postgres.ts';
import { type Member, pause } from './member.ts';

export interface ChaosCounts {
  kills: number;
  pauses: number;
  restarts: number;
  postgresRestarts: number;
  postgresKills: number;
}

const KINDS = ['kill', 'kill', 'pause', 'pause', 'restart', 'postgres-restart', 'postgres-kill'] as const;
const GAP_MS_MIN = 1_000;
const GAP_MS_SPAN = 2_000;

export class Chaos {
  readonly counts: ChaosCounts = { kills: 0, pauses: 0, restarts: 0, postgresRestarts: 0, postgresKills: 0 };
  readonly #members: readonly Member[];
  readonly #postgres: OwnPostgres;
  readonly #random: SeededRandom;
  readonly #underWay = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  #postgresBusy = false;

  constructor(options: { members: readonly Member[]; postgres: OwnPostgres; seed: number }) {
    this.#members = options.members;
    this.#postgres = options.postgres;
    this.#random = new SeededRandom(options.seed);
  }

  /** Resolves when the time is over and everything that was broken runs again. */
  async run(durationMs: number): Promise<void> {
    const until = performance.now() + durationMs;
    while (performance.now() < until) {
      await pause(GAP_MS_MIN + this.#random.next() * GAP_MS_SPAN);
      this.#breakSomething();
    }
    await Promise.all(this.#underWay);
    if (this.#failures.length > 0) throw new AggregateError(this.#failures, 'the chaos itself failed');
  }

  #breakSomething(): void {
    const { counts } = this;
    const kind = KINDS[this.#random.below(KINDS.length)]!;
    const amount = this.#random.next();
    const free = this.#members.filter((member) => !member.busy);
    const member = free[this.#random.below(free.length)];
    if (kind === 'postgres-restart' || kind === 'postgres-kill') {
      if (this.#postgresBusy) return;
      counts[kind === 'postgres-kill' ? 'postgresKills' : 'postgresRestarts'] += 1;
      this.#start(this.#restartPostgres(kind === 'postgres-kill'));
    } else if (member === undefined) {
      // Everybody is down already.
    } else if (kind === 'kill') {
      counts.kills += 1;
      this.#start(member.kill(amount * 4_000));
    } else if (kind === 'pause') {
      counts.pauses += 1;
      this.#start(member.pause(1_000 + amount * 7_000));
    } else {
      counts.restarts += 1;
      this.#start(member.restart());
    }
  }

  async #restartPostgres(killed: boolean): Promise<void> {
    this.#postgresBusy = true;
    await (killed ? this.#postgres.kill() : this.#postgres.stop());
    await this.#postgres.start();
    this.#postgresBusy = false;
  }

  #start(action: Promise<void>): void {
    const guarded: Promise<void> = action
      .catch((error: unknown) => {
        this.#failures.push(error);
      })
      .finally(() => this.#underWay.delete(guarded));
    this.#underWay.add(guarded);
  }
}
