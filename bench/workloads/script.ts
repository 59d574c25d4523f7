/**
 * What a run of the script handler costs over a bare spawn of the same command (C1): the folder of the run, the containment and
 * limits of its processes, its output, and all that every run costs. Both in the same run, interleaved.
 */
import { eventually } from '../../tests/support/eventually.ts';
import { askProcess } from '../ask-process.ts';
import { assertRecorded, attemptsOf, countUnfinished } from '../engine/store-facts.ts';
import { bound, findingsOf } from '../findings.ts';
import { median } from '../median.ts';
import type { SpawnFigures, SpawnOrder } from '../script/spawn-process.ts';
import { onServerProcess } from '../servers/serve-process.ts';
import { onConnection, onDatabase, settleDatabase } from '../stores.ts';
import { count, times } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonSettings, CarillonWorkload } from '../workloads.ts';

const spawnModule = new URL('../script/spawn-process.ts', import.meta.url);
const command = { interpreter: 'bash', script: ':\n' };
/** At the same time, on both sides. */
const atOnce = 4;
const patienceMs = 600_000;

const cost = bound('C1', 'script run / bare spawn of the same command', { atMost: 4 }, times);

/** Milliseconds for each, of each round. */
type Figures = { readonly bareMs: number[]; readonly scriptMs: number[] };

export const script: CarillonWorkload = {
  name: 'script',
  summary: 'runs of a bash script that does nothing, beside bare spawns of the same command',

  async run(run): Promise<CarillonOutcome> {
    const { settings, abort, log } = run;
    const { runs, warmUpRuns } = runsOf(settings);
    const figures: Figures = { bareMs: [], scriptMs: [] };
    const findings = await findingsOf(
      [cost],
      async () => {
        for (let round = 1; round <= settings.rounds && !abort.aborted; round += 1) {
          const bareMs = await measureBare(run);
          figures.bareMs.push(bareMs);
          const scriptMs = await measureScripts(run);
          figures.scriptMs.push(scriptMs);
          log(`script ${round}/${settings.rounds}: bare spawn ${fine(bareMs)}, script run ${fine(scriptMs)}`);
        }
        return [cost.judge(median(figures.scriptMs) / median(figures.bareMs))];
      },
      (reason) => log(`script: FAILED: ${reason}`),
    );
    return {
      method: `${count(runs)} times \`bash\` on a file that does nothing (warm-up ${count(warmUpRuns)}), ${atOnce} at the same time; interleaved rounds: ${settings.rounds}, medians. Bare: spawned by a Node process that waits for its end. Script run: jobs with the handler \`script\`, made while the server is down, run by the server as \`npm start\` runs it, with its default limits and the containment that this machine allows; from the start of the first to the end of the last, as recorded. Every job succeeded with one attempt. Time per run is elapsed time through runs.`,
      machineParts: ['node-apart', 'postgres'],
      table: tableOf(figures),
      findings,
      figures,
    };
  },
};

function runsOf({ quick }: CarillonSettings): { runs: number; warmUpRuns: number } {
  return quick ? { runs: 200, warmUpRuns: 40 } : { runs: 2_000, warmUpRuns: 400 };
}

async function measureBare({ settings, abort }: CarillonRun): Promise<number> {
  const sizes = runsOf(settings);
  const order: SpawnOrder = { ...command, ...sizes, atOnce };
  const { seconds } = await askProcess<SpawnFigures>({ module: spawnModule, order, patienceMs, abort });
  return (seconds * 1_000) / sizes.runs;
}

function measureScripts({ urls, abort, settings }: CarillonRun): Promise<number> {
  const { runs, warmUpRuns } = runsOf(settings);
  return onDatabase(urls, ({ env: { databaseUrl } }) =>
    onServerProcess({ databaseUrl, abort }, async (server) => {
      const runAll = async (jobs: number) => {
        await server.call('create', { jobs, handler: 'script', payload: command });
        await settleDatabase(databaseUrl);
        const sinceMs = Date.now();
        await server.call('start', { slots: atOnce });
        await onConnection(databaseUrl, (client) =>
          eventually(
            async () => {
              const unfinished = await countUnfinished(client);
              if (unfinished > 0) throw new Error(`${unfinished} scripts have not ended`);
            },
            { withinMs: patienceMs },
          ),
        );
        await server.call('stop', undefined);
        return onConnection(databaseUrl, (client) => attemptsOf(client, sinceMs));
      };
      await runAll(warmUpRuns);
      const { attempts, seconds } = await runAll(runs);
      await onConnection(databaseUrl, (client) => assertRecorded(client, warmUpRuns + runs));
      if (attempts !== runs) throw new Error(`not correct: ${attempts} attempts at ${runs} runs`);
      return (seconds * 1_000) / runs;
    }),
  );
}

function tableOf({ bareMs, scriptMs }: Figures): string[][] {
  const rowOf = (name: string, rounds: readonly number[]) => [
    name,
    `${fine(median(rounds))} (${fine(Math.min(...rounds))}–${fine(Math.max(...rounds))})`,
  ];
  const rows = [['run', 'time per run (min–max)']];
  if (bareMs.length > 0) rows.push(rowOf('bare spawn', bareMs));
  if (scriptMs.length > 0) rows.push(rowOf('script run', scriptMs));
  return rows;
}

function fine(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
