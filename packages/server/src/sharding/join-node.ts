/**
 * The first beat of a process: makes sure that it runs under a node id that is its own. A process whose data folder was copied
 * finds the node id taken by another one that may live; it goes on as a new node and leaves the other alone (hazard 44).
 */
import type { BootId, NodeId } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import type { MemberStore } from '../storage/member-store.ts';

export interface JoinNodeOptions {
  readonly members: MemberStore;
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  /** Processes that certainly have ended: this one may be the next of their node, at once. */
  readonly endedBoots: readonly BootId[];
  readonly address: string;
  readonly ttlMs: number;
  /** Makes a node id that nobody has, and keeps it for the next start. */
  readonly newNodeId: () => Promise<NodeId>;
  readonly log: Log;
}

/** Answers the node id to run under. May be repeated when its answer was lost. */
export async function joinNode(options: JoinNodeOptions): Promise<NodeId> {
  const { nodeId: former, incarnation, bootId, newNodeId, log } = options;
  if (await join(options, former)) return former;
  const nodeId = await newNodeId();
  log.warn(
    { nodeId, former, incarnation, bootId },
    'another process runs under the node id of this folder, which may be a copy; this server goes on as a new node',
  );
  if (await join(options, nodeId)) return nodeId;
  throw new Error(`the new node id ${nodeId} is taken`);
}

async function join(options: JoinNodeOptions, nodeId: NodeId): Promise<boolean> {
  const { members, incarnation, bootId, address, ttlMs, endedBoots: ended } = options;
  const nowMs = Math.round(await members.serverTimeMs());
  const beat = { nodeId, incarnation, bootId, address, nowMs, ttlMs, joining: { ended } };
  return (await members.beatNode(beat)).alive;
}
