import type { JobId, RunId } from '@carillon/domain';
import { beforeEach, describe, expect, it } from 'vitest';
import { ENTRIES_MAX, WaitingSignals } from './waiting-signals.ts';

const LANE = { part: 1, priority: 'high', handlerKey: 2, tenant: 3, atMs: 100 } as const;
const ids = <Id extends string>(count: number, prefix = 'id') =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}` as Id);

let waiting: WaitingSignals;

beforeEach(() => {
  waiting = new WaitingSignals();
});

describe('signals that wait', () => {
  it('are merged by lane, with the smallest instant', () => {
    for (const atMs of [100, 50, 70]) waiting.add({ 'runs-open': { lanes: [{ ...LANE, atMs }] } });
    waiting.add({ 'runs-open': { lanes: [{ ...LANE, tenant: 4 }] } });
    expect(waiting.take()).toEqual({
      'runs-open': {
        lanes: [
          { ...LANE, atMs: 50 },
          { ...LANE, tenant: 4 },
        ],
      },
    });
  });

  it('are merged by shard, with the smallest instant', () => {
    for (const atMs of [7, 9, 5]) waiting.add({ 'shards-due': { shards: [{ shard: 3, atMs }] } });
    expect(waiting.take()).toEqual({ 'shards-due': { shards: [{ shard: 3, atMs: 5 }] } });
  });

  it('name each id once', () => {
    waiting.add({ 'slots-freed': { jobIds: ['a', 'b'] as JobId[] } });
    waiting.add({ 'slots-freed': { jobIds: ['b', 'c'] as JobId[] } });
    waiting.add({ 'cancel-requested': { runIds: ['r', 's'] as RunId[] } });
    waiting.add({ 'cancel-requested': { runIds: ['r'] as RunId[] } });
    expect(waiting.take()).toEqual({
      'slots-freed': { jobIds: ['a', 'b', 'c'] },
      'cancel-requested': { runIds: ['r', 's'] },
    });
  });

  it('are "any" as soon as one of them is, whatever is named before or after', () => {
    waiting.add({ 'runs-open': { lanes: [LANE] } });
    waiting.add({ 'runs-open': { lanes: [] } });
    waiting.add({ 'runs-open': { lanes: [LANE] } });
    expect(waiting.take()).toEqual({ 'runs-open': { lanes: [] } });
  });

  it('become "any" past the bound, and not before', () => {
    waiting.add({ 'slots-freed': { jobIds: ids<JobId>(ENTRIES_MAX) } });
    waiting.add({ 'slots-freed': { jobIds: ids<JobId>(ENTRIES_MAX) } });
    expect(waiting.take()['slots-freed']?.jobIds).toHaveLength(ENTRIES_MAX);
    waiting.add({ 'slots-freed': { jobIds: ids<JobId>(ENTRIES_MAX + 1) } });
    expect(waiting.take()).toEqual({ 'slots-freed': { jobIds: [] } });
  });

  it('of runs to cancel are cut at the bound: without names they would say nothing', () => {
    waiting.add({ 'cancel-requested': { runIds: ids<RunId>(ENTRIES_MAX + 10) } });
    expect(waiting.take()['cancel-requested']?.runIds).toEqual(ids(ENTRIES_MAX));
  });

  it('are taken once', () => {
    expect(waiting.isEmpty).toBe(true);
    waiting.add({ 'events-recorded': {}, 'shards-due': { shards: [] } });
    expect(waiting.isEmpty).toBe(false);
    expect(waiting.take()).toEqual({ 'events-recorded': {}, 'shards-due': { shards: [] } });
    expect(waiting.isEmpty).toBe(true);
    expect(waiting.take()).toEqual({});
  });

  it('to cancel no runs are nothing', () => {
    waiting.add({ 'cancel-requested': { runIds: [] } });
    expect(waiting.isEmpty).toBe(true);
  });
});
