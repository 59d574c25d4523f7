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
  postgresFreezes: number;
}

const KINDS = [
  'kill',
  'kill',
  'pause',
  'pause',
  'restart',
  'postgres-restart',
  'postgres-kill',
  'postgres-freeze',
] as const;
type Kind = (typeof KINDS)[number];
const GAP_MS_MIN = 1_000;
const GAP_MS_SPAN = 2_000;

export class Chaos {
  readonly counts: ChaosCounts = {
    kills: 0,
    pauses: 0,
    restarts: 0,
    postgresRestarts: 0,
    postgresKills: 0,
    postgresFreezes: 0,
  };
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
    const kind = KINDS[this.#random.below(KINDS.length)]!;
    const amount = this.#random.next();
    const free = this.#members.filter((member) => !member.busy);
    const member = free[this.#random.below(free.length)];
    if (kind.startsWith('postgres')) {
      if (!this.#postgresBusy) this.#start(this.#breakPostgres(kind, amount));
    } else if (member !== undefined) {
      this.#start(this.#breakMember(member, kind, amount));
    }
  }

  #breakMember(member: Member, kind: Kind, amount: number): Promise<void> {
    const { counts } = this;
    if (kind === 'kill') {
      counts.kills += 1;
      return member.kill(amount * 4_000);
    }
    if (kind === 'pause') {
      counts.pauses += 1;
      return member.pause(1_000 + amount * 8_000);
    }
    counts.restarts += 1;
    return member.restart();
  }

  async #breakPostgres(kind: Kind, amount: number): Promise<void> {
    const { counts } = this;
    const postgres = this.#postgres;
    this.#postgresBusy = true;
    if (kind === 'postgres-freeze') {
      counts.postgresFreezes += 1;
      await postgres.freeze();
      await pause(500 + amount * 5_000);
      postgres.thaw();
    } else {
      counts[kind === 'postgres-kill' ? 'postgresKills' : 'postgresRestarts'] += 1;
      await (kind === 'postgres-kill' ? postgres.kill() : postgres.stop());
      await postgres.start();
    }
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
