/** Jobs are spread over a fixed number of virtual shards; the number is part of the stored data and never changes. */
import type { JobId } from '../ids.ts';

export const SHARD_COUNT = 64;

/** A job belongs to the shard of its id's hash (FNV-1a), for life. */
export function shardOf(jobId: JobId): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < jobId.length; i += 1) {
    hash ^= jobId.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (SHARD_COUNT - 1);
}
