/**
 * Outcomes while the database refuses them (hazard 28). What has nothing to do with the outcome (a table or column is not there, in the middle of
 * an upgrade or after a mistake) changes none, however long it takes; what the outcome itself causes does not keep the run for ever.
 */
import { RUN_ERRORS, type RunOutcome } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { OutcomesStage } from './outcomes.fixture.ts';

/** More than an outcome is tried before it is told as one that could not be stored. */
const TRIES = 14;
const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: false };

describeEachPostgres('outcomes that the database refuses', (server) => {
  let stage: OutcomesStage;
  let clock: ManualClock;

  beforeEach(async () => {
    clock = new ManualClock(BASE_MS);
    stage = await OutcomesStage.open(server.url, clock);
  });
  afterEach(() => stage.close());

  const pass = (until: () => void) =>
    eventually(
      () => {
        clock.advance(2_000);
        until();
      },
      { withinMs: 120_000 },
    );

  async function claimed() {
    const { job, runId } = await stage.world.oneOff();
    const run = await stage.world.claimOne(job);
    return {
      send: (outcome: RunOutcome) => stage.send(run, outcome),
      ended: async () => (await stage.storage.runs.attempts(runId, BASE_MS))[0],
    };
  }

  it.each([
    ['a table', 'job_runs RENAME TO', { kind: 'SUCCESS' } as const],
    ['a table that failures are looked up in', 'leases RENAME TO', FAILED],
    ['a column', 'job_runs RENAME COLUMN status TO', { kind: 'SUCCESS' } as const],
  ])('are as they were once %s is back', async (_, rename, outcome) => {
    const [, table, column] = rename.match(/^(\w+) RENAME(?: COLUMN (\w+))? TO$/)!;
    const run = await claimed();
    await stage.somebody.query(`ALTER TABLE ${rename} away`);
    run.send(outcome);
    await pass(() => expect(stage.tries).toBeGreaterThan(TRIES));
    await stage.somebody.query(
      column ? `ALTER TABLE ${table} RENAME COLUMN away TO ${column}` : `ALTER TABLE away RENAME TO ${table}`,
    );
    await pass(() => expect(stage.sender.unrecordedCount).toBe(0));
    expect(await run.ended()).toMatchObject({ status: outcome.kind });
    expect((await run.ended())?.error).not.toBe(RUN_ERRORS.notStored());
  });

  it('for what they hold are told as outcomes that could not be stored', async () => {
    const run = await claimed();
    run.send({ kind: 'FAILED', error: 'a\0b', retryable: true });
    await pass(() => expect(stage.sender.unrecordedCount).toBe(0));
    expect(await run.ended()).toMatchObject({ status: 'FAILED', error: RUN_ERRORS.notStored() });
  });
});
