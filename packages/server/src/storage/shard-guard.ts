/**
 * Proof of ownership that goes with every write of a shard's owner. The storage writes only rows whose shard still belongs
 * to this node at this epoch, so a paused ex-owner can do no harm.
 */
import type { NodeId } from '@carillon/domain';

export interface ShardGuard {
  readonly nodeId: NodeId;
  readonly epochs: ReadonlyMap<number, number>;
}
