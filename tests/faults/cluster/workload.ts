/**
 * Jobs of many kinds, submitted through whichever server answers. A batch without an answer is sent again with its key, to
 * another server: what was answered is accepted, and what was accepted was submitted once.
 */
import { SeededRandom } from '@carillon/foundation';
import { JobRefused, submitJobs } from '../../support/api-client.ts';
import type { Receiver } from '../../support/receiver.ts';
import { type Member, pause } from './member.ts';

const BATCH = 200;
const SENDERS = 3;
const ANSWER_MS_MAX = 4_000;
/** However unlucky, somebody answers within this. */
const ACCEPTED_MS_MAX = 240_000;
const NO_ANSWER_PAUSE_MS = 100;

export interface WorkloadOptions {
  readonly members: readonly Member[];
  readonly receiver: Receiver;
  readonly seed: number;
  readonly oneOffs: number;
  readonly recurring: number;
  readonly durationMs: number;
}

/** Instants on which the recurring jobs are due: every second from the first to the last. */
export interface Grid {
  readonly firstMs: number;
  readonly lastMs: number;
}

export class Workload {
  readonly grid: Grid;
  readonly acceptedOneOffs: string[] = [];
  readonly acceptedRecurring: string[] = [];
  /** Batches that got no answer and were sent again. */
  repeats = 0;
  readonly #options: WorkloadOptions;
  readonly #random: SeededRandom;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    const firstMs = Math.ceil(Date.now() / 1_000) * 1_000 + 5_000;
    this.grid = { firstMs, lastMs: firstMs + Math.floor(options.durationMs / 1_000) * 1_000 };
  }

  /** Resolves when everything was accepted. */
  async submit(): Promise<void> {
    const { oneOffs, recurring, durationMs } = this.#options;
    await this.#send(
      'recurring',
      Array.from({ length: recurring }, (_, i) => this.#recurring(i)),
      this.acceptedRecurring,
    );
    const batches = Math.ceil(oneOffs / BATCH);
    const startedAt = performance.now();
    let next = 0;
    const sender = async () => {
      while (next < batches) {
        const batch = next;
        next += 1;
        const dueInMs = startedAt + (batch / batches) * durationMs - performance.now();
        if (dueInMs > 0) await pause(dueInMs);
        const leftMs = Math.max(0, durationMs - (performance.now() - startedAt));
        const size = Math.min(BATCH, oneOffs - batch * BATCH);
        const jobs = Array.from({ length: size }, (_, i) => this.#oneOff(batch * BATCH + i, leftMs));
        await this.#send(`one-offs-${batch}`, jobs, this.acceptedOneOffs);
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, sender));
  }

  async #send(key: string, jobs: readonly object[], accepted: string[]): Promise<void> {
    const giveUpAt = performance.now() + ACCEPTED_MS_MAX;
    for (;;) {
      const { members } = this.#options;
      const member = members[Math.floor(Math.random() * members.length)]!;
      try {
        accepted.push(
          ...(await submitJobs(member.process, jobs, { idempotencyKey: key, withinMs: ANSWER_MS_MAX })),
        );
        return;
      } catch (error) {
        if (error instanceof JobRefused || performance.now() > giveUpAt) throw error;
        this.repeats += 1;
        await pause(NO_ANSWER_PAUSE_MS);
      }
    }
  }

  #oneOff(i: number, leftMs: number): object {
    const isFuture = this.#random.next() < 0.4;
    return {
      name: `one-off ${i}`,
      ...(isFuture
        ? { schedule_time: new Date(Date.now() + this.#random.next() * leftMs).toISOString() }
        : {}),
      priority: (['low', 'medium', 'high'] as const)[this.#random.below(3)],
      ...this.#call(this.#answerMs()),
    };
  }

  #recurring(i: number): object {
    return {
      name: `recurring ${i}`,
      interval: '1s',
      schedule_time: new Date(this.grid.firstMs).toISOString(),
      end_at: new Date(this.grid.lastMs).toISOString(),
      ...(i % 2 === 0 ? { misfire: { policy: 'all', max_runs: 1_000, window_seconds: 3_600 } } : {}),
      ...this.#call(this.#random.below(100)),
    };
  }

  #call(answerMs: number): object {
    const retry = { strategy: 'fixed', delay_seconds: 1 };
    return { payload: { url: this.#options.receiver.url(answerMs) }, max_retries: 100, retry };
  }

  /** Mostly at once; a few outlive the patience of the others with a silent worker. */
  #answerMs(): number {
    const kind = this.#random.next();
    if (kind < 0.005) return 6_000 + this.#random.below(3_000);
    if (kind < 0.02) return 1_000 + this.#random.below(2_000);
    if (kind < 0.2) return 50 + this.#random.below(250);
    return this.#random.below(10);
  }
}
