/**
 * How soon a tenant gets its turn behind another's backlog. All slots are busy with runs of a large tenant that take about a
 * second each, and far more of them wait; then a small tenant submits one job after the other. Counted is how many slots
 * became free from the moment the job was accepted until it started, and how many runs of the large tenant started meanwhile:
 * none, when it gets the next slot. Then schedules of high priority fire every second. Afterwards the whole backlog is drained
 * without delay, so that nothing counts of which a run was lost or started twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SERVER } from '../../packages/domain/src/access/caller.ts';
import type { RunContext } from '../../packages/worker/src/handler.ts';
import { eventually } from '../../tests/support/eventually.ts';
import { createJobs, handlerName, type OpenEngine, openEngine } from '../engine/open-engine.ts';
import { StartLedger } from '../engine/start-ledger.ts';
import { countSucceeded, countUnfinished, isAllRecorded } from '../engine/store-facts.ts';
import { settleDatabase } from '../stores.ts';
import { makeTenants, ownedBy, type TenantKind } from './tenants.ts';

export type TurnOrder = {
  readonly measure: 'turn';
  readonly databaseUrl: string;
  readonly tenantKind: TenantKind;
  readonly slots: number;
  /** Runs of the large tenant. */
  readonly waiting: number;
  /** Jobs of the small tenant, submitted one after the other. */
  readonly probes: number;
  /** For so many seconds, schedules of high priority fire. */
  readonly cronSeconds: number;
  /** About how long a run of the large tenant takes. */
  readonly runMs: number;
  /** A job that has not started by then did not get its turn. */
  readonly patienceMs: number;
};

export type Turn = {
  readonly hasStarted: boolean;
  /** Until it started, or until patience ended. */
  readonly slotsFreed: number;
  /** Runs of the large tenant that started meanwhile. */
  readonly overtakenBy: number;
  readonly delayMs: number;
};

export type TurnFigures = Awaited<ReturnType<typeof measureTurn>>;

const large = 0;
const small = 1;
const crons = 10;
/** For the rest of the backlog. */
const drainSlots = 2_000;
const busyPatienceMs = 60_000;
const recordPatienceMs = 30_000;

/** What was started, by both engines. */
class Ledgers {
  readonly large: StartLedger;
  readonly probes: number[] = [];
  /** Starts of each occurrence, by schedule and instant; and their delays, from the instant to the start. */
  readonly occurrences = new Map<string, number>();
  readonly cronDelaysMs: number[] = [];
  begun = 0;
  freed = 0;
  onProbe: () => void = () => undefined;

  constructor(waiting: number) {
    this.large = new StartLedger(waiting);
  }

  /** Whether it was a run of the large tenant. */
  started({ payload, scheduledAt }: RunContext): boolean {
    if (typeof payload.probe === 'number') {
      this.probes[payload.probe] = (this.probes[payload.probe] ?? 0) + 1;
      this.onProbe();
      return false;
    }
    if (typeof payload.cron === 'number') {
      const occurrence = `${payload.cron} at ${scheduledAt.getTime()}`;
      this.occurrences.set(occurrence, (this.occurrences.get(occurrence) ?? 0) + 1);
      this.cronDelaysMs.push(Date.now() + 1 - scheduledAt.getTime());
      return false;
    }
    this.begun += 1;
    this.large.started(payload.index as number, scheduledAt.getTime());
    return true;
  }
}

export async function measureTurn(order: TurnOrder) {
  const ledgers = new Ledgers(order.waiting);
  const pool = new pg.Pool({ connectionString: order.databaseUrl, max: 1 });
  try {
    const turns = await measureTurns(order, ledgers);
    const drainPerSecond = await drainRest(order, ledgers, pool);
    await assertCorrect(ledgers, pool, {
      probes: turns.length,
      occurrencesMin: (order.cronSeconds - 1) * crons,
    });
    return { ok: true as const, turns, cronDelaysMs: ledgers.cronDelaysMs, drainPerSecond };
  } finally {
    await pool.end();
  }
}

async function measureTurns(order: TurnOrder, ledgers: Ledgers): Promise<readonly Turn[]> {
  const { databaseUrl, slots, runMs } = order;
  const handler = async (context: RunContext): Promise<void> => {
    if (!ledgers.started(context)) return;
    // Unequal, or all slots would become free in the same moment.
    await sleep(runMs * (0.5 + Math.random()));
    ledgers.freed += 1;
  };
  await submitBacklog(order);
  await settleDatabase(databaseUrl);
  const open = await openEngine({ databaseUrl, slots, handler });
  try {
    await open.start();
    await eventually(
      async () => {
        if (ledgers.freed < slots) throw new Error('the slots were not busy in time');
      },
      { withinMs: busyPatienceMs },
    );
    const turns = await probe(order, ledgers, open);
    await fireCrons(order, open);
    return turns;
  } finally {
    await open.close();
  }
}

/** By an engine that never starts: the one that runs them finds them in the store, and was told of none. */
async function submitBacklog({ databaseUrl, tenantKind, waiting, slots }: TurnOrder): Promise<void> {
  const { engine, close } = await openEngine({ databaseUrl, slots, handler: () => undefined });
  try {
    await makeTenants(engine, { kind: tenantKind, count: 2 });
    await createJobs(engine, waiting, (index) => ({
      name: 'large',
      handler: handlerName,
      scheduleType: 'IMMEDIATE',
      payload: { index },
      ...ownedBy(tenantKind, large),
    }));
  } finally {
    await close();
  }
}

async function probe(order: TurnOrder, ledgers: Ledgers, { engine }: OpenEngine): Promise<readonly Turn[]> {
  const turns: Turn[] = [];
  for (let number = 0; number < order.probes; number += 1) {
    // At another moment of the slots' rhythm each time.
    await sleep(Math.random() * 4 * (order.runMs / order.slots));
    const start = Promise.withResolvers<{ freed: number; begun: number; atMs: number }>();
    ledgers.onProbe = () =>
      start.resolve({ freed: ledgers.freed, begun: ledgers.begun, atMs: performance.now() });
    const submittedAtMs = performance.now();
    await engine.operations.createJob(SERVER, {
      name: 'small',
      handler: handlerName,
      scheduleType: 'IMMEDIATE',
      payload: { probe: number },
      ...ownedBy(order.tenantKind, small),
    });
    const { freed: freedBefore, begun: begunBefore } = ledgers;
    const started = await Promise.race([start.promise, sleep(order.patienceMs, undefined, { ref: false })]);
    turns.push({
      hasStarted: started !== undefined,
      slotsFreed: Math.max(0, (started?.freed ?? ledgers.freed) - freedBefore),
      overtakenBy: Math.max(0, (started?.begun ?? ledgers.begun) - begunBefore),
      delayMs: (started?.atMs ?? performance.now()) - submittedAtMs,
    });
    if (ledgers.begun === order.waiting) throw new Error('the backlog ran dry: let more runs wait');
    // The next one would wait behind this one.
    if (!started) break;
  }
  return turns;
}

async function fireCrons({ cronSeconds }: TurnOrder, { engine }: OpenEngine): Promise<void> {
  const jobIds = await createJobs(engine, crons, (cron) => ({
    name: 'cron',
    handler: handlerName,
    scheduleType: 'CRON',
    cronExpression: '* * * * * *',
    priority: 'high',
    payload: { cron },
  }));
  await sleep(cronSeconds * 1_000);
  for (const jobId of jobIds) await engine.operations.pauseJob(SERVER, jobId);
  // What has begun is recorded before the schedules go.
  await sleep(1_000);
  for (const jobId of jobIds) await engine.operations.cancelJob(SERVER, jobId);
}

async function drainRest(order: TurnOrder, ledgers: Ledgers, pool: pg.Pool): Promise<number> {
  const rest = ledgers.large.missing;
  let firstStartAtMs: number | undefined;
  const open = await openEngine({
    databaseUrl: order.databaseUrl,
    slots: drainSlots,
    handler: (context) => {
      firstStartAtMs ??= performance.now();
      ledgers.started(context);
    },
  });
  try {
    await open.start();
    await ledgers.large.allStarted;
    await eventually(
      async () => {
        if (!(await isAllRecorded(pool))) throw new Error('outcomes were not recorded in time');
        if ((await countUnfinished(pool)) > 0) throw new Error('not all runs were started in time');
      },
      { withinMs: recordPatienceMs },
    );
    const seconds = (performance.now() - firstStartAtMs!) / 1_000;
    return rest / seconds;
  } finally {
    await open.close();
  }
}

/** Both engines have stopped: nothing more is started. */
async function assertCorrect(
  ledgers: Ledgers,
  pool: pg.Pool,
  { probes, occurrencesMin }: { probes: number; occurrencesMin: number },
): Promise<void> {
  const faults = ledgers.large.faults();
  const started = Array.from({ length: probes }, (_, number) => ledgers.probes[number] ?? 0);
  if (ledgers.probes.length > probes || started.some((times) => times !== 1))
    faults.push(`jobs of the small tenant started ${started.join(', ')} times`);
  const { occurrences } = ledgers;
  if (occurrences.size < occurrencesMin || [...occurrences.values()].some((times) => times !== 1))
    faults.push(
      `of at least ${occurrencesMin} occurrences ${occurrences.size} started, or some more than once`,
    );
  const wanted = ledgers.large.jobs + probes + occurrences.size;
  const recorded = await countSucceeded(pool);
  if (recorded !== wanted) faults.push(`${recorded} runs are recorded of ${wanted}`);
  const unfinished = await countUnfinished(pool);
  if (unfinished > 0) faults.push(`${unfinished} still unfinished in the store`);
  if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
}
