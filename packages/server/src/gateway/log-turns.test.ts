import { type RunId, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { FairTurns } from '../shared-limit/fair-turns.ts';
import { GatewayFixture } from './gateway.fixture.ts';
import { operationsInTurns } from './operations-in-turns.ts';

const SEARCHES_OF_ONE = 4;
const TURNS_OF_ONE = 4;

let gateway: GatewayFixture;
let runId: RunId;

beforeEach(async () => {
  gateway = new GatewayFixture({ requestsMax: 6 });
  const jobId = await gateway.createdId({ name: 'a', cron_expression: '0 9 * * *' });
  ({ run_id: runId } = (await gateway.post(`/api/jobs/${jobId}/runNow`, {})).body);
  await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
});

/** How many look for the run at the same time, none of which is answered before open is called. */
function heldLooks() {
  const { runs } = gateway.storage;
  const { attempts } = runs;
  const { promise, resolve: open } = Promise.withResolvers<void>();
  let held = 0;
  runs.attempts = async (...args) => {
    held += 1;
    await promise;
    return attempts.apply(runs, args);
  };
  return { held: () => held, open };
}

const turnsOfTheLoop = async () => {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
};

describe('the text of a log', () => {
  test.each(['text/plain', 'text/event-stream'])('as %s is looked for in turn', async (accept) => {
    const { held, open } = heldLooks();
    const asked = Array.from({ length: 20 }, () =>
      gateway.app.inject({
        url: `/api/runs/${runId}/logs`,
        headers: { authorization: 'Bearer correct-horse-battery-staple', accept },
      }),
    );
    await turnsOfTheLoop();
    expect(held()).toBe(TURNS_OF_ONE);
    open();
    let isOver = false;
    const all = Promise.all(asked).finally(() => {
      isOver = true;
    });
    // A followed log looks again after a while.
    while (!isOver) {
      await turnsOfTheLoop();
      gateway.clock.advance(250);
    }
    expect(new Set((await all).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  });

  test('has no turn while it waits for others that are searched', async () => {
    const turns = new FairTurns({ clock: gateway.clock, placesMax: 6 });
    const { readRunLog, getRun } = operationsInTurns(gateway.everyones, turns);
    const search = async (signal: AbortSignal) =>
      (await readRunLog(SERVER, runId, { search: 'x' })).search!(signal);
    const gone = new AbortController();
    for (let i = 0; i < SEARCHES_OF_ONE; i += 1) await search(gone.signal);
    const waiting = Array.from({ length: TURNS_OF_ONE }, () => search(gone.signal));
    await turnsOfTheLoop();
    expect((await getRun(SERVER, runId)).latest.runId).toBe(runId);
    gone.abort();
    const ended = await Promise.allSettled(waiting);
    expect(ended.map(({ status }) => status)).toEqual(Array(TURNS_OF_ONE).fill('rejected'));
  });
});
