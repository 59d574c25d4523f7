/**
 * Many seeds, one test. The first that fails stops it and tells its seed and what happened around the failure. The seeds of `npm test`
 * are always the same: what was fixed until they passed proves little about others, so `npm run test:long` has new ones every day.
 *   SEED=123 npx vitest run --project simulation           replays exactly that one
 *   SIMULATIONS=20000 npx vitest run --project simulation  takes longer and finds more
 */
import { describe, it } from 'vitest';
import { runSimulation } from './run-simulation.ts';

/** As many as mutations.test.ts may take to find a defect; `npm run test:long` has more. */
const IS_LONG = process.env.CARILLON_TEST_LONG === 'true';
const SIMULATIONS_DEFAULT = IS_LONG ? 2_000 : 400;
const DAY_MS = 86_400_000;
/** Only ends a hang: a seed takes about a tenth of a second. */
const MS_EACH_MAX = 10_000;

/** Seeds are dealt out to several test files, so that they run side by side. */
export function describeSeeds({ part, parts }: { part: number; parts: number }): void {
  const seeds = wantedSeeds().filter((seed) => seed % parts === part);
  if (seeds.length === 0)
    return void describe.skip('another file has the seed', () => it('is not here', () => {}));
  describe('the whole system under faults', () => {
    const name = seeds.length === 1 ? `seed ${seeds[0]}` : `${seeds.length} seeds`;
    it(`keeps every promise: ${name}`, { timeout: seeds.length * MS_EACH_MAX + 600_000 }, async () => {
      // Faults are errors, by the thousand; where each was made is a tenth of the time and only read in a replay.
      const { stackTraceLimit } = Error;
      if (seeds.length > 1) Error.stackTraceLimit = 0;
      try {
        for (const seed of seeds) {
          const { failure, report } = await runSimulation({ seed });
          if (failure)
            throw new Error(`${report()}\n\nReplay: SEED=${seed} npx vitest run --project simulation`);
        }
      } finally {
        Error.stackTraceLimit = stackTraceLimit;
      }
    });
  });
}

function wantedSeeds(): number[] {
  const { SEED, SIMULATIONS } = process.env;
  if (SEED) return [Number(SEED)];
  const first = IS_LONG ? Math.floor(Date.now() / DAY_MS) * 10_000 : 1;
  return Array.from({ length: Number(SIMULATIONS ?? SIMULATIONS_DEFAULT) }, (_, i) => first + i);
}
