/** The other servers of the installation, as they publish themselves in the database: where each is reached, and what it signs with. */
import type { BootId, NodeId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { MemberStore, Peer } from '../storage/member-store.ts';
import { StorageClock } from '../storage/storage-clock.ts';
import { isSigned, PeerKey, type PeerRequest, readClaim } from './peer-key.ts';

/** Servers publish every 10 s. */
const REFRESH_MS = 5_000;
/** Somebody who invents servers costs no more than this many queries. */
const REFRESH_MS_MIN = 1_000;

export interface PeersOptions {
  readonly nodeId: NodeId;
  readonly bootId: BootId;
  readonly members: MemberStore;
  readonly clock: Clock;
}

export class Peers {
  readonly nodeId: NodeId;
  readonly bootId: BootId;
  readonly #members: MemberStore;
  /** Servers whose clocks differ agree on the time of a request. */
  readonly #clock: StorageClock;
  readonly #key: PeerKey;
  #known: readonly Peer[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor({ nodeId, bootId, members, clock }: PeersOptions) {
    this.nodeId = nodeId;
    this.bootId = bootId;
    this.#members = members;
    this.#clock = new StorageClock(clock);
    this.#key = new PeerKey(bootId);
  }

  get publicKey(): string {
    return this.#key.publicKey;
  }

  /** The process that has this server's folder now, or had it last. Undefined: none has said how it is reached. */
  at(nodeId: NodeId): Promise<Peer | undefined> {
    return this.#find((peer) => peer.nodeId === nodeId && peer.urls.length > 0);
  }

  /** The Authorization header of a request to another server. Reads the clock of the storage before the first. */
  async sign(request: PeerRequest): Promise<string> {
    await this.#refresh(REFRESH_MS);
    return this.#key.sign(request, this.#clock.now());
  }

  /** Another server of the installation asks this one, now. */
  async isFromPeer(request: Omit<PeerRequest, 'to'>, header: string | undefined): Promise<boolean> {
    if (header === undefined) return false;
    await this.#refresh(REFRESH_MS);
    const claim = readClaim(header, this.#clock.now());
    if (!claim || claim.bootId === this.bootId) return false;
    const peer = await this.#find(({ bootId }) => bootId === claim.bootId);
    return peer !== undefined && isSigned({ ...request, to: this.nodeId }, claim, peer.publicKey);
  }

  async #find(matches: (peer: Peer) => boolean): Promise<Peer | undefined> {
    await this.#refresh(REFRESH_MS);
    const known = this.#known.find(matches);
    if (known) return known;
    // It may have come since.
    await this.#refresh(REFRESH_MS_MIN);
    return this.#known.find(matches);
  }

  async #refresh(olderThanMs: number): Promise<void> {
    if (this.#clock.monotonic() - this.#readAt < olderThanMs) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const [known] = await Promise.all([this.#members.publishedPeers(), this.#clock.sync(this.#members)]);
    this.#known = known;
    this.#readAt = this.#clock.monotonic();
  }
}
