import { describe, expect, it } from 'vitest';
import { StartLedger } from './start-ledger.ts';

describe('the ledger of starts', () => {
  it('finds no fault when every job started once, for its instant', async () => {
    const ledger = new StartLedger(2, Float64Array.of(1_000, 2_000));
    ledger.started(0, 1_000);
    ledger.started(1, 2_000);
    await ledger.allStarted;
    expect(ledger.faults()).toEqual([]);
  });

  it('tells what never started, started twice, was not created, or came for another instant', () => {
    const ledger = new StartLedger(3, Float64Array.of(1_000, 2_000, 3_000));
    ledger.started(0, 1_000);
    ledger.started(0, 1_000);
    ledger.started(1, 2_001);
    ledger.started(9, 2_000);
    expect(ledger.faults()).toEqual([
      '1 of 3 never started',
      '1 started more than once',
      '1 starts of jobs nobody created',
      '1 started for another instant',
    ]);
  });

  it('counts the delay of the first start, never better than the truth', () => {
    const ledger = new StartLedger(1);
    const nowMs = Date.now();
    ledger.started(0, nowMs - 100);
    ledger.started(0, nowMs - 100_000);
    const { p50Ms, maxMs } = ledger.delays();
    expect(p50Ms).toBeGreaterThanOrEqual(101);
    // The second start, which does not count, was given as a hundred seconds late.
    expect(maxMs).toBeLessThan(100_000);
  });
});
