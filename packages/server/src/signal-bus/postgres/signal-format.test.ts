import { type JobId, PRIORITIES, type RunId } from '@carillon/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Signals } from '../signal-bus.ts';
import { NOTIFICATIONS_MAX, NOTIFY_BYTES_MAX, packSignals, unpackSignals } from './signal-format.ts';
import type { SignalBatch } from './waiting-signals.ts';

const SENDER = 'sender-id_09';
const lane = fc.record({
  part: fc.nat({ max: 7 }),
  priority: fc.constantFrom(...PRIORITIES),
  handlerKey: fc.integer(),
  tenant: fc.nat({ max: 2 ** 52 - 1 }),
  atMs: fc.maxSafeInteger(),
});
const shard = fc.record({ shard: fc.nat({ max: 63 }), atMs: fc.maxSafeInteger() });
const id = <Id extends string>() => fc.uuid().map((uuid) => uuid as Id);
const many = { maxLength: 2_000, size: 'max' } as const;
const batches: fc.Arbitrary<SignalBatch> = fc.record(
  {
    'runs-open': fc.record({ lanes: fc.array(lane, many) }),
    'shards-due': fc.record({ shards: fc.array(shard, { maxLength: 64 }) }),
    'slots-freed': fc.record({ jobIds: fc.array(id<JobId>(), many) }),
    'cancel-requested': fc.record({ runIds: fc.array(id<RunId>(), { ...many, minLength: 1 }) }),
    'events-recorded': fc.constant({}),
    'shards-moved': fc.constant({}),
    'workers-asked': fc.constant({}),
  },
  { requiredKeys: [] },
);

/** As a server hears them: sections of one kind joined. */
function hear(payloads: readonly string[]): SignalBatch {
  const heard = payloads.map((payload) => unpackSignals(payload)!.batch);
  const joined = <Name extends keyof Signals>(name: Name) =>
    heard.flatMap((batch) => (batch[name] === undefined ? [] : [batch[name]]));
  const [lanes, shards, jobs] = [joined('runs-open'), joined('shards-due'), joined('slots-freed')];
  const [runs, events, moved, asked] = [
    joined('cancel-requested'),
    joined('events-recorded'),
    joined('shards-moved'),
    joined('workers-asked'),
  ];
  return {
    ...(lanes.length > 0 && { 'runs-open': { lanes: lanes.flatMap((signal) => signal.lanes) } }),
    ...(shards.length > 0 && { 'shards-due': { shards: shards.flatMap((signal) => signal.shards) } }),
    ...(jobs.length > 0 && { 'slots-freed': { jobIds: jobs.flatMap((signal) => signal.jobIds) } }),
    ...(runs.length > 0 && { 'cancel-requested': { runIds: runs.flatMap((signal) => signal.runIds) } }),
    ...(events.length > 0 && { 'events-recorded': {} }),
    ...(moved.length > 0 && { 'shards-moved': {} }),
    ...(asked.length > 0 && { 'workers-asked': {} }),
  };
}

const uuids = <Id extends string>(count: number) =>
  Array.from(
    { length: count },
    (_, i) => `00000000-0000-7000-8000-${i.toString(16).padStart(12, '0')}` as Id,
  );

describe('payloads', () => {
  it('are read as they were written, keep the limits, and say "any" where not all entries fit', () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const payloads = packSignals(batch, { sender: SENDER });
        expect(payloads.length).toBeLessThanOrEqual(NOTIFICATIONS_MAX);
        for (const payload of payloads) {
          expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(NOTIFY_BYTES_MAX);
          expect(unpackSignals(payload)?.sender).toBe(SENDER);
        }
        const heard = hear(payloads);
        const lanes = heard['runs-open']?.lanes.length === 0 ? [] : (batch['runs-open']?.lanes ?? []);
        const jobIds = heard['slots-freed']?.jobIds.length === 0 ? [] : (batch['slots-freed']?.jobIds ?? []);
        const runs = heard['cancel-requested']?.runIds.length ?? 0;
        const runIds = batch['cancel-requested']?.runIds.slice(0, runs) ?? [];
        expect(heard).toEqual({
          ...batch,
          ...(batch['runs-open'] && { 'runs-open': { lanes } }),
          ...(batch['slots-freed'] && { 'slots-freed': { jobIds } }),
          ...(heard['cancel-requested'] && { 'cancel-requested': { runIds } }),
          ...(!heard['cancel-requested'] && { 'cancel-requested': undefined }),
        });
      }),
      { numRuns: 50 },
    );
  });

  it('of a small batch are one', () => {
    const batch: SignalBatch = {
      'runs-open': { lanes: [{ part: 1, priority: 'low', handlerKey: 2, tenant: 3, atMs: 4 }] },
      'shards-due': { shards: [] },
      'slots-freed': { jobIds: uuids(3) },
      'events-recorded': {},
    };
    const payloads = packSignals(batch, { sender: SENDER });
    expect(payloads).toHaveLength(1);
    expect(unpackSignals(payloads[0]!)).toEqual({ sender: SENDER, batch });
  });

  it('name 5,000 runs, and cut what is beyond the last notification', () => {
    const whole = packSignals({ 'cancel-requested': { runIds: uuids(5_000) } }, { sender: SENDER });
    expect(hear(whole)['cancel-requested']?.runIds).toEqual(uuids(5_000));
    const cut = hear(packSignals({ 'cancel-requested': { runIds: uuids(8_000) } }, { sender: SENDER }));
    const { length } = cut['cancel-requested']!.runIds;
    expect(length).toBeGreaterThan(5_000);
    expect(cut['cancel-requested']!.runIds).toEqual(uuids(length));
  });

  it('fall back to "any" past the last notification, and to that alone', () => {
    const batch: SignalBatch = {
      'shards-due': { shards: [{ shard: 1, atMs: 2 }] },
      'slots-freed': { jobIds: uuids(8_000) },
      'cancel-requested': { runIds: uuids(3) },
    };
    const payloads = packSignals(batch, { sender: SENDER });
    expect(payloads).toHaveLength(1);
    expect(unpackSignals(payloads[0]!)!.batch).toEqual({ ...batch, 'slots-freed': { jobIds: [] } });
  });

  it('round instants down, and say "any" for what is no number', () => {
    const at = (atMs: number) =>
      hear(packSignals({ 'shards-due': { shards: [{ shard: 1, atMs }] } }, { sender: SENDER }));
    expect(at(5.9)).toEqual({ 'shards-due': { shards: [{ shard: 1, atMs: 5 }] } });
    for (const atMs of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60]) {
      expect(at(atMs)).toEqual({ 'shards-due': { shards: [] } });
    }
  });

  it('leave out runs to cancel that have no UUID, and say nothing when none is left', () => {
    const odd = 'odd' as RunId;
    const pack = (runIds: RunId[]) => packSignals({ 'cancel-requested': { runIds } }, { sender: SENDER });
    expect(hear(pack([odd, ...uuids<RunId>(1)]))).toEqual({ 'cancel-requested': { runIds: uuids(1) } });
    expect(pack([odd])).toEqual([]);
  });
});

describe('what we would not have written', () => {
  const ID = 'AAAAAAAAcACAAAAAAAAAAA';

  it.each([
    '',
    'hello',
    '{"json":true}',
    `1${SENDER}`,
    `1${SENDER};`,
    `2${SENDER};e`,
    '1short;e',
    `1${SENDER};x`,
    `1${SENDER};e;e`,
    `1${SENDER};eA`,
    `1${SENDER};s1`,
    `1${SENDER};s1.2.3`,
    `1${SENDER};s1.2,`,
    `1${SENDER};s01.2`,
    `1${SENDER};s1.zzzzzzzzzzzz`,
    `1${SENDER};s1.A`,
    `1${SENDER};r1.3.1.1.1`,
    `1${SENDER};r1.-1.1.1.1`,
    `1${SENDER};r1.1.1.1`,
    `1${SENDER};r8.1.1.1.1`,
    `1${SENDER};r-1.1.1.1.1`,
    `1${SENDER};r1.1.zik0zk.1.1`,
    `1${SENDER};r1.1.1.-1.1`,
    `1${SENDER};r1.1.1.${(2 ** 52).toString(36)}.1`,
    `1${SENDER};s1s.1`,
    `1${SENDER};s-1.1`,
    `1${SENDER};c`,
    `1${SENDER};c${ID.slice(1)}`,
    `1${SENDER};p${ID.slice(0, -1)}B`,
    `1${SENDER};p${ID.slice(0, -1)}=`,
    `1${SENDER};e\n`,
    `1${SENDER};e;s1.2;r`.repeat(2),
  ])('is nothing: %j', (payload) => {
    expect(unpackSignals(payload)).toBeUndefined();
  });

  it('never throws', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'1;,.-_eprscAZaz09'), maxLength: 80 });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), letters), (text) => {
        unpackSignals(text);
        unpackSignals(`1${SENDER};${text}`);
      }),
    );
  });

  it('is told from what we would have: an accepted payload is written the same again', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'1;,.-eprs01'), maxLength: 12 });
    fc.assert(
      fc.property(letters, (text) => {
        const read = unpackSignals(`1${SENDER};${text}`);
        if (!read) return;
        const again = packSignals(read.batch, { sender: SENDER }).join();
        expect(again.split(';').sort()).toEqual(`1${SENDER};${text}`.split(';').sort());
      }),
      { numRuns: 2_000 },
    );
  });
});
