/**
 * Lanes: how runs that may start are ordered in the storage. A lane holds the open runs of one tenant, handler and priority
 * in one part of the shards, by the instant they became claimable. Whoever claims reads a lane forward from a mark, so it never
 * walks over what was claimed before.
 */
import { createHash } from 'node:crypto';
import { Cache, type Job, type Priority, type RunId } from '@carillon/domain';

/** Several claims run side by side without meeting, one per part; more parts make more lanes to look after. Stored: never changes. */
export const PART_COUNT = 8;

export interface LaneKey {
  readonly part: number;
  readonly priority: Priority;
  readonly handlerKey: number;
  /** Namespace and user, for fair shares. */
  readonly tenant: number;
}

/** Where reading a lane goes on: after this run. */
export interface LaneMark {
  readonly laneAtMs: number;
  readonly runId: string;
}

/** The first run of a lane. */
export interface LaneHead extends LaneKey, LaneMark {}

/** A run may be claimed in the lane from the instant on. */
export interface LaneHint extends LaneKey {
  readonly atMs: number;
}

export const LANE_START: LaneMark = { laneAtMs: 0, runId: '00000000-0000-0000-0000-000000000000' as RunId };

/** A text that names the lane. */
export function laneName({ part, priority, handlerKey: key, tenant }: LaneKey): string {
  return `${part}/${priority}/${key}/${tenant}`;
}

/** In the order in which a lane is read. */
export function compareMarks(a: LaneMark, b: LaneMark): number {
  if (a.laneAtMs !== b.laneAtMs) return a.laneAtMs - b.laneAtMs;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

export function partOf(shard: number): number {
  return shard % PART_COUNT;
}

type LaneTerms = Pick<Job, 'shard' | 'priority' | 'handler' | 'namespace' | 'userId'>;

export function laneOf(job: LaneTerms): LaneKey {
  const { shard, priority, handler } = job;
  return { part: partOf(shard), priority, handlerKey: handlerKey(handler), tenant: tenantOf(job) };
}

/** A number for the name: 32 bits, as PostgreSQL's integer has them. */
export function handlerKey(handler: string): number {
  return hash32(handler) | 0;
}

const TENANT_BITS = 26;
const TENANT_HALF = 2 ** TENANT_BITS;
export const TENANTS_MAX = TENANT_HALF ** 2;

/** The namespace in the upper half, the user in the lower. Two that share a number share a fair share, and nothing else. */
export function tenantOf({ namespace, userId }: Pick<Job, 'namespace' | 'userId'>): number {
  return namespaceKey(namespace) * TENANT_HALF + (userId === undefined ? 0 : upperBits(userId));
}

/** A number for the name. No namespace is made whose number another one has: a worker that serves one is given nothing of another. */
export function namespaceKey(namespace: string): number {
  return upperBits(namespace);
}

export function namespaceOf(tenant: number): number {
  return Math.floor(tenant / TENANT_HALF);
}

function upperBits(text: string): number {
  return hash32(text) >>> (32 - TENANT_BITS);
}

/** Most jobs have the same few names. */
const hashes = new Cache<string, number>({ entriesMax: 20_000 });

function hash32(text: string): number {
  return hashes.getOrCompute(text, sha256Prefix);
}

function sha256Prefix(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}
