/**
 * Keeps this node a member and owner of its share of the shards: beats, acquires what rendezvous hashing gives it, releases the
 * rest. Every write to a shard is fenced by its epoch in the storage (SHARD-1), so the copy here may be a little old.
 */
import { type BootId, type NodeId, shardsOfNode } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { MemberStore } from '../storage/member-store.ts';
import type { ShardGuard } from '../storage/schedule-store.ts';

export interface ShardKeeperOptions {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly address: string;
  readonly members: MemberStore;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A node silent for this long is dead, and its shards are free. */
  readonly ttlMs: number;
  /** Another process took over this node's identity: this one must end. */
  readonly onReplaced: () => void;
}

/** Always the same map: roles compare maps by identity to notice a change. */
const NONE: ReadonlyMap<number, number> = new Map();

export class ShardKeeper implements Service {
  readonly #options: ShardKeeperOptions;
  readonly #loop: Loop;
  readonly #listeners: (() => void)[] = [];
  readonly #unsubscribe: () => void;
  #isMember = false;
  #isAnnouncing = false;
  #epochs: ReadonlyMap<number, number> = new Map();
  #trustedUntil = 0;

  constructor(options: ShardKeeperOptions) {
    this.#options = options;
    const { ttlMs, signals } = options;
    this.#loop = new Loop({ ...options, name: 'shards', idleMs: ttlMs / 4, runOnce: () => this.runOnce() });
    this.#unsubscribe = signals.on('shards-moved', () => {
      if (!this.#isAnnouncing) this.#loop.wake();
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Releases everything, so that other nodes need not wait for the time to live. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    const { members, nodeId, bootId, log } = this.#options;
    const epochs = this.#epochs;
    this.#set(new Map());
    try {
      await members.releaseShards({ nodeId, epochs });
      await members.leaveNode(nodeId, bootId);
      this.#announce();
    } catch (error) {
      log.warn({ err: error }, 'could not release the shards; they run out by themselves');
    }
  }

  /** What this node may write to now. Empty when the last renewal is too old to be trusted. */
  guard(): ShardGuard {
    const { nodeId, clock } = this.#options;
    return { nodeId, epochs: clock.monotonic() < this.#trustedUntil ? this.#epochs : NONE };
  }

  /** Called when shards were gained or lost. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async runOnce(): Promise<undefined> {
    const { members, nodeId, incarnation, bootId, address, clock, ttlMs, onReplaced, log } = this.#options;
    // SHARD-3: a slow answer must not lengthen the ownership.
    const sentAt = clock.monotonic();
    const nowMs = clock.now();
    const beat = await members.beatNode({ nodeId, incarnation, bootId, address, nowMs, ttlMs });
    if (!beat.alive) {
      this.#set(new Map());
      log.error({ nodeId, incarnation, bootId }, 'another process runs under this node id by now; stopping');
      onReplaced();
      return undefined;
    }
    const wanted = new Set(shardsOfNode(nodeId, beat.nodes));
    const before = this.#epochs.size;
    const kept = await this.#keep(wanted);
    const missing = [...wanted].filter((shard) => !kept.has(shard));
    const gained =
      missing.length > 0
        ? await members.acquireShards({ nodeId, bootId, shards: missing, nowMs, ttlMs })
        : new Map<number, number>();
    this.#trustedUntil = sentAt + ttlMs;
    this.#set(new Map([...kept, ...gained]));
    // Other nodes release what is this node's, or acquire what it released, now and not with their next beat.
    if (!this.#isMember || kept.size < before) this.#announce();
    this.#isMember = true;
    return undefined;
  }

  #announce(): void {
    this.#isAnnouncing = true;
    this.#options.signals.send('shards-moved', {});
    this.#isAnnouncing = false;
  }

  /** The beat has renewed the shards of this node; those it is not to have are released (SHARD-5). */
  async #keep(wanted: ReadonlySet<number>): Promise<Map<number, number>> {
    const { members, nodeId, bootId } = this.#options;
    const keep = new Map([...this.#epochs].filter(([shard]) => wanted.has(shard)));
    if (keep.size < this.#epochs.size) this.#set(keep);
    const kept = await members.keepShards({ nodeId, bootId, epochs: keep });
    return new Map([...keep].filter(([shard]) => kept.has(shard)));
  }

  #set(epochs: ReadonlyMap<number, number>): void {
    const before = this.#epochs;
    const same =
      before.size === epochs.size && [...epochs].every(([shard, epoch]) => before.get(shard) === epoch);
    // The same map as long as nothing changed: roles compare it by identity.
    if (same) return;
    this.#epochs = epochs;
    this.#options.log.info({ shards: epochs.size, before: before.size }, 'shards changed hands');
    for (const listener of this.#listeners) listener();
  }
}
