/**
 * Workers on other machines (P10): no-op jobs drained by one worker over gRPC, held against the in-process drain (P1) in the same
 * run, interleaved; how soon what is due starts over the stream; and whether the memory of server and worker stays what it is.
 */
import { askDrain } from '../engine/ask-engine.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import { bound, findingsOf } from '../findings.ts';
import { warmUpOf } from '../play-rounds.ts';
import {
  type Growth,
  measureRemoteDelay,
  measureRemoteDrain,
  measureRemoteMemory,
  type RemoteDelay,
  type RemoteDrain,
  type RemoteMemory,
} from '../remote/measure-remote.ts';
import { onDatabase } from '../stores.ts';
import { drainCost, drainSpread } from '../summary.ts';
import { costWords, count, megabytes, milliseconds, rangeWords, splitWords, times } from '../text-table.ts';
import type { CarillonOutcome, CarillonSettings, CarillonWorkload } from '../workloads.ts';

/** As the drain workload has. */
const slots = 2_000;
const percent = (share: number) => `${Math.round(share)} %`;
const share = bound('P10', 'drain by one remote worker, share of in-process', { atLeast: 50 }, percent);
const delay = bound('P10', 'start delay over the stream: p50', { below: 10 }, milliseconds);
const growths = {
  server: bound('P10', 'memory kept by the server: last third / first', { atMost: 1.05 }, times),
  worker: bound('P10', 'memory kept by the worker: last third / first', { atMost: 1.05 }, times),
};

type Figures = {
  readonly inProcess: DrainFigures[];
  readonly remote: RemoteDrain[];
  delay?: RemoteDelay;
  memory?: RemoteMemory;
};

export const remote: CarillonWorkload = {
  name: 'remote',
  summary:
    'drain by one worker over gRPC, beside the in-process drain; its start delay; memory of both sides',

  async run(run): Promise<CarillonOutcome> {
    const { settings, urls, abort, log } = run;
    const { jobs, rounds } = settings;
    const warmUpJobs = warmUpOf(jobs);
    const figures: Figures = { inProcess: [], remote: [] };
    const onFailed = (reason: string) => log(`remote: FAILED: ${reason}`);
    const drained = await findingsOf(
      [share],
      async () => {
        for (let round = 1; round <= rounds && !abort.aborted; round += 1) {
          const order = { slots, warmUpJobs, jobs };
          const inProcess = await onDatabase(urls, (store) => askDrain(run, store, order));
          figures.inProcess.push(inProcess);
          const overStream = await measureRemoteDrain(run, order);
          figures.remote.push(overStream);
          const rate = ({ drainPerSecond, drainCoreUs }: RemoteDrain) =>
            `${count(drainPerSecond)}/s${costWords(drainCoreUs)}`;
          log(`remote ${round}/${rounds}: in process ${rate(inProcess)}, over gRPC ${rate(overStream)}`);
        }
        return [share.judge((rateOf(figures.remote) / rateOf(figures.inProcess)) * 100)];
      },
      onFailed,
    );
    const started = await findingsOf(
      [delay],
      async () => {
        const measured = await measureRemoteDelay(run, delayOrder(settings));
        figures.delay = measured;
        const { p50Ms, p99Ms } = measured;
        log(`remote: start delay p50 ${p50Ms} ms, p99 ${p99Ms} ms`);
        return [delay.judge(p50Ms)];
      },
      onFailed,
    );
    const kept = await findingsOf(
      [growths.server, growths.worker],
      async () => {
        const measured = await measureRemoteMemory(run, memoryOrder(settings));
        figures.memory = measured;
        const { server, worker } = measured;
        log(`remote: memory kept by the server ${growthWords(server)}, by the worker ${growthWords(worker)}`);
        return [
          growths.server.judge(server.lastThirdBytes / server.firstThirdBytes),
          growths.worker.judge(worker.lastThirdBytes / worker.firstThirdBytes),
        ];
      },
      onFailed,
    );
    const { perSecond } = delayOrder(settings).load;
    const { waves, jobsPerWave } = memoryOrder(settings);
    return {
      method: `Drains of ${count(jobs)} jobs (warm-up ${count(warmUpJobs)}) with ${count(slots)} slots, each on an empty database; interleaved rounds: ${rounds}. In process: the engine and its handler, as the drain has it. Over gRPC: the server as \`npm start\` runs it, and one worker with a worker key, each a process of its own on the same cores. Rates count from the first start until all are recorded. Start delay: ${count(perSecond)} jobs/s created ahead, from the scheduled instant to the call of the handler in the worker, rounded up to whole milliseconds, ${count(settings.slots)} slots. Memory: after each of ${waves} waves of ${count(jobsPerWave)} jobs, posted and run by the same processes after a warm-up, and recorded: resident memory (RSS) after a full garbage collection that gives unused memory back; medians of the first and the last third of the waves. Most: RSS before those collections. Every job was started exactly once by the worker, and is recorded. core-µs: processor time per job, of PostgreSQL + of the Node processes.`,
      machineParts: ['node-apart', 'postgres'],
      table: tableOf(figures),
      findings: [...drained, ...started, ...kept],
      figures,
    };
  },
};

function delayOrder({ quick, slots }: CarillonSettings) {
  const [perSecond, seconds, warmUpJobs] = quick ? [200, 3, 2_000] : [1_000, 20, 20_000];
  return { slots, warmUpJobs, load: { kind: 'steady', perSecond, seconds } as const };
}

function memoryOrder({ quick }: CarillonSettings) {
  return quick
    ? { slots, waves: 20, jobsPerWave: 1_000, warmUpJobs: 4_000 }
    : { slots, waves: 40, jobsPerWave: 5_000, warmUpJobs: 40_000 };
}

function rateOf(rounds: readonly Pick<RemoteDrain, 'drainPerSecond'>[]): number {
  return drainSpread(rounds).median;
}

function growthWords({ firstThirdBytes, lastThirdBytes }: Growth): string {
  return `${megabytes(firstThirdBytes)} → ${megabytes(lastThirdBytes)}`;
}

function tableOf({ inProcess, remote, delay, memory }: Figures): string[][] {
  const rows = [['measured', 'figure', 'core-µs']];
  const drainRow = (name: string, rounds: readonly RemoteDrain[]) =>
    rows.push([
      `drained/s (min–max), ${name}`,
      rangeWords(drainSpread(rounds)),
      splitWords(drainCost(rounds)),
    ]);
  if (inProcess.length > 0) drainRow('in process', inProcess);
  if (remote.length > 0) drainRow('one worker over gRPC', remote);
  if (delay) {
    const words = [delay.p50Ms, delay.p99Ms, delay.maxMs].map(milliseconds).join(' / ');
    rows.push([`start delay of ${count(delay.jobs)} jobs: p50 / p99 / max`, words, '–']);
  }
  if (memory) {
    const runs = `over ${count(memory.jobs)} runs, first → last third; most`;
    const words = (growth: Growth) =>
      `${growthWords(growth)}; ${megabytes(Math.max(...growth.residentBytes))}`;
    rows.push([`memory kept by the server ${runs}`, words(memory.server), '–']);
    rows.push([`memory kept by the worker ${runs}`, words(memory.worker), '–']);
  }
  return rows;
}
