/**
 * Rendezvous hashing: every shard goes to the living node with the highest score for it. All nodes compute the same owner (SHARD-6)
 * without talking, and a node that comes or goes moves only the shards that are its own.
 */
import type { NodeId } from '../ids.ts';
import { SHARD_COUNT } from '../job/job.ts';

export function shardsOfNode(nodeId: NodeId, living: readonly NodeId[]): number[] {
  const shards: number[] = [];
  for (let shard = 0; shard < SHARD_COUNT; shard += 1)
    if (ownerOf(shard, living) === nodeId) shards.push(shard);
  return shards;
}

export function ownerOf(shard: number, living: readonly NodeId[]): NodeId | undefined {
  let owner: NodeId | undefined;
  let best = -1;
  for (const nodeId of living) {
    const score = scoreOf(nodeId, shard);
    if (score > best || (score === best && nodeId < owner!)) {
      owner = nodeId;
      best = score;
    }
  }
  return owner;
}

/** FNV-1a over the node, mixed with the shard by a 32-bit finalizer. */
function scoreOf(nodeId: NodeId, shard: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(shard + 1, 0x9e3779b1);
  for (let i = 0; i < nodeId.length; i += 1) hash = Math.imul(hash ^ nodeId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
