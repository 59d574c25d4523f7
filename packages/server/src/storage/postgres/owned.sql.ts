/**
 * SHARD-1: the guard of every write of a shard's owner, as a common table expression: which of the shards named by a non-NULL epoch
 * still belong to the node. The lock lets no change of hands slip in between this check and the commit: the epoch is part of
 * a unique index, so changing it conflicts with a key-share lock, of which claims take hundreds a second. Nothing renews these
 * rows: dead versions of them would be walked by every claim while an old snapshot is open (hazard 29).
 *
 * Epochs come as one array indexed by shard, and the answer is one number with a bit per shard: joining sets of 64, or looking
 * through an array of them for every row, cost more than the rest of the check.
 */
export function owned(node: string, epochs: string): string {
  return `owned_shards AS MATERIALIZED (
      SELECT s.shard FROM shards s WHERE s.node_id = ${node}::uuid AND s.epoch = (${epochs}::bigint[])[s.shard + 1] FOR KEY SHARE
    ), owned AS MATERIALIZED (
      SELECT bit_or(1::bigint << shard) AS shards FROM owned_shards
    )`;
}

/** Whether the shard is among them; no row passes when none is. */
export function isOwned(shard: string): string {
  return `((SELECT shards FROM owned) >> ${shard}) & 1 = 1`;
}
