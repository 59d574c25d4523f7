/**
 * Who got how much: runs of each user that were claimed while every one of them had much waiting (SIM-12). Only users of the
 * backlog are counted; whatever else waits has none.
 */
import type { Job, JobId } from '@carillon/domain';
import type { World } from './world.ts';

interface Share {
  wanted: number;
  claimed: number;
  /** Of what was claimed: while all had much waiting. */
  counted: number;
  /** The same with what it had got before, while others had nothing waiting: a dispatcher may remember that for a while. */
  sinceFirst: number;
}

/** Fewer claims than this tell nothing. */
const COUNTED_MIN = 40;
const RATIO_MAX = 1.3;
/** Each dispatcher shares out by itself, and takes so many runs of a tenant at a time. */
const PORTION_RUNS = 8;

export class ShareLedger {
  readonly #world: World;
  readonly #userOf = new Map<JobId, string>();
  readonly #shares = new Map<string, Share>();
  #expected = 0;
  #tolerated = PORTION_RUNS;
  #isCounting = false;

  constructor(world: World) {
    this.#world = world;
  }

  wanted({ jobId, userId }: Job): void {
    if (userId === undefined) return;
    this.#userOf.set(jobId, userId);
    const share = this.#shares.get(userId) ?? { wanted: 0, claimed: 0, counted: 0, sinceFirst: 0 };
    share.wanted += 1;
    this.#shares.set(userId, share);
    if (this.#userOf.size === this.#expected) this.#isCounting = true;
  }

  /**
   * Counting begins when so many jobs of theirs are there. Dispatchers whose workers have nothing to do fill all slots from the lanes that
   * they have heard of until then, which may be those of one tenant.
   */
  expect({ jobs, dispatchers, slots }: { jobs: number; dispatchers: number; slots: number }): void {
    this.#expected = jobs;
    this.#tolerated = Math.max(dispatchers * PORTION_RUNS, slots);
  }

  /** For the first time. */
  claimed(jobId: JobId): void {
    const share = this.#shares.get(this.#userOf.get(jobId) ?? '');
    if (!share) return;
    // Towards the end of a tenant's runs it depends on where they wait.
    this.#isCounting &&= [...this.#shares.values()].every(({ wanted, claimed }) => claimed < wanted * 0.6);
    share.claimed += 1;
    if (!this.#isCounting) return;
    share.counted += 1;
    for (const each of this.#shares.values()) each.sinceFirst = each.claimed;
  }

  check(): void {
    const all = [...this.#shares.values()];
    const counted = all.map((share) => share.counted);
    const sum = counted.reduce((total, count) => total + count, 0);
    if (sum < COUNTED_MIN || this.#isFair(counted)) return;
    if (this.#isFair(all.map((share) => share.sinceFirst))) return;
    const shares = [...this.#shares].map(
      ([userId, share]) => `${userId} ${share.counted} (${share.sinceFirst} since its first)`,
    );
    this.#world.violate(`slots were not shared out fairly: ${shares.join(', ')}`);
  }

  #isFair(shares: readonly number[]): boolean {
    const allowed = RATIO_MAX * Math.min(...shares) + this.#tolerated;
    return Math.max(...shares) <= allowed;
  }
}
