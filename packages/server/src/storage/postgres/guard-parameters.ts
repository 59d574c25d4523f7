/** Node and epochs as the guarded statements take them: indexed by shard, NULL for those that are not written to. */
import { SHARD_COUNT } from '@carillon/domain';
import { plainArray } from '../../postgres/array-literal.ts';
import type { ShardGuard } from '../shard-guard.ts';

export function guardParameters(
  guard: ShardGuard,
  shards: readonly number[],
): [node: string, epochs: string] {
  const epochs = new Array<number | undefined>(SHARD_COUNT).fill(undefined);
  for (const shard of shards) epochs[shard] = guard.epochs.get(shard);
  return [guard.nodeId, plainArray(epochs)];
}
