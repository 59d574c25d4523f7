/** The idle all-in-one server (P7): processor and memory of the server and its embedded database while nothing is due. */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../tests/support/eventually.ts';
import { bound, findingsOf, judged } from '../findings.ts';
import { canReadProcesses, type ProcessUse, readTree } from '../process-use.ts';
import { type CarillonProcess, startCarillon } from '../servers/carillon-process.ts';
import { count, megabytes } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

const cpu = { bar: 'P7', what: 'processor, share of one core', limit: '< 2 %' };
const memory = bound('P7', 'memory with its database', { below: 250e6 }, megabytes);

type Figures = Awaited<ReturnType<typeof measure>>;

export const idle: CarillonWorkload = {
  name: 'idle',
  summary: 'processor and memory of a whole server, database included, that has nothing to do',

  async run(run): Promise<CarillonOutcome> {
    let figures: Figures | null = null;
    const table: string[][] = [];
    const findings = await findingsOf([cpu, memory], async () => {
      const measured = await measure(run);
      const { cpuPercent, after } = measured;
      const [server, ...database] = after;
      figures = measured;
      table.push(...tableOf(measured));
      return [
        judged(cpu, `${cpuPercent.toFixed(2)} %`, cpuPercent < 2),
        memory.judge(server!.rssBytes + total(database, 'pssBytes')),
      ];
    });
    return {
      method:
        'The server as `npm start` runs it, with its embedded PostgreSQL and default settings, after one job and a rest. RSS counts a shared page once per process, PSS a share of it. Judged are the RSS of the server, or other programs that run on Node would seem to carry a part of it, and the PSS of the database, whose processes share their buffers. MB are millions of bytes.',
      machineParts: [],
      table,
      findings,
      figures,
    };
  },
};

async function measure({ settings, abort, log }: CarillonRun) {
  if (!canReadProcesses()) throw new Error('reads /proc, which only Linux has');
  const restMs = settings.quick ? 3_000 : 10_000;
  const watchMs = settings.quick ? 5_000 : 30_000;
  const server = await startCarillon();
  try {
    await runOneJob(server);
    log(`idle: server ${server.pid} rests for ${restMs / 1_000} s, then is watched for ${watchMs / 1_000} s`);
    await sleep(restMs, undefined, { signal: abort });
    const startedAt = performance.now();
    const before = readTree(server.pid);
    await sleep(watchMs, undefined, { signal: abort });
    const elapsedMs = performance.now() - startedAt;
    const after = readTree(server.pid);
    await server.assertReady();
    const usedMs = total(after, 'cpuMs') - total(before, 'cpuMs');
    return { seconds: elapsedMs / 1_000, cpuPercent: (usedMs / elapsedMs) * 100, before, after };
  } finally {
    await server.stop();
  }
}

/** Before the server is left alone: one that never worked would look smaller than one that has. */
async function runOneJob({ address, adminKey }: CarillonProcess): Promise<void> {
  const authorization = `Bearer ${adminKey}`;
  const created = await fetch(`${address}/api/jobs`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'hello', handler: 'http', payload: { url: `${address}/health/live` } }),
  });
  if (created.status !== 201) throw new Error(`a job was refused: ${await created.text()}`);
  const { job_id: jobId } = (await created.json()) as { job_id: string };
  await eventually(
    async () => {
      const answer = await fetch(`${address}/api/jobs/${jobId}/status`, { headers: { authorization } });
      const { status } = (await answer.json()) as { status: string };
      if (status !== 'completed') throw new Error(`a job that calls the server itself is ${status}`);
    },
    { withinMs: 10_000 },
  );
}

/** The server, and its database with what guards it. */
function tableOf({ before, after, seconds }: Figures): string[][] {
  const [server, ...database] = after;
  const rowOf = (name: string, processes: readonly ProcessUse[]) => {
    const pids = new Set(processes.map(({ pid }) => pid));
    const sameBefore = before.filter(({ pid }) => pids.has(pid));
    const usedMs = total(processes, 'cpuMs') - total(sameBefore, 'cpuMs');
    return [
      name,
      count(processes.length),
      `${(usedMs / seconds / 10).toFixed(2)} %`,
      megabytes(total(processes, 'pssBytes')),
      megabytes(total(processes, 'rssBytes')),
    ];
  };
  return [
    ['part', 'processes', `processor over ${Math.round(seconds)} s`, 'PSS', 'RSS'],
    rowOf('server', [server!]),
    rowOf('embedded PostgreSQL', database),
    rowOf('together', after),
  ];
}

function total(processes: readonly ProcessUse[], field: 'cpuMs' | 'pssBytes' | 'rssBytes'): number {
  return processes.reduce((sum, use) => sum + use[field], 0);
}
