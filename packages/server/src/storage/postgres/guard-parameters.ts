import { plainArray } from '../../postgres/array-literal.ts';
import type { ShardGuard } from '../shard-guard.ts';

/** Node, shards and epochs as the guarded statements take them; only the shards that are written to. */
export function guardParameters(guard: ShardGuard, shards: readonly number[]): [node: string, shards: string, epochs: string] {
  const distinct = [...new Set(shards)].filter((shard) => guard.epochs.has(shard)).sort((a, b) => a - b);
  return [guard.nodeId, plainArray(distinct), plainArray(distinct.map((shard) => guard.epochs.get(shard)))];
}
