/**
 * Fairness between tenants (P9): how soon a tenant gets a slot while another has a million runs waiting, and whether choosing
 * among many tenants costs more than having one.
 */
import { askDrain, askTurn } from '../engine/ask-engine.ts';
import type { DrainFigures } from '../engine/measure-drain.ts';
import type { Turn, TurnFigures } from '../fairness/measure-turn.ts';
import { type Bound, bound, type Finding, findingsOf } from '../findings.ts';
import { percentile } from '../percentile.ts';
import { warmUpOf } from '../play-rounds.ts';
import { onDatabase } from '../stores.ts';
import { drainCost, drainSpread } from '../summary.ts';
import { count, milliseconds, rangeWords, splitWords, times } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

/** Few, so that slots become free one by one: with about a second per run, one every 50 ms. */
const turnSlots = 20;
const runMs = 1_000;
/** As the drain workload has. */
const drainSlots = 2_000;

const overtaken = 'runs of the large tenant that start before one of the small';
const turnBounds = {
  p50: bound('P9', `${overtaken}: p50`, { atMost: 0 }),
  /** A claim that was under way when the job came may have given the next slot away. */
  p99: bound('P9', `${overtaken}: p99`, { atMost: 1 }),
  cron: bound(
    'B1',
    'start delay of schedules of high priority meanwhile: p99',
    { below: 2_000 },
    milliseconds,
  ),
};
const flat = (tenants: number) =>
  bound('P9', `drain with ${count(tenants)} tenants / with 1`, { atLeast: 0.7 }, times);

type Figures = { turn: TurnFigures | null; drains: { tenants: number; rounds: DrainFigures[] }[] };

export const fairness: CarillonWorkload = {
  name: 'fairness',
  summary: "a tenant's turn while another has a million runs waiting; drains with 1 to 10,000 tenants",

  async run(run): Promise<CarillonOutcome> {
    const { settings } = run;
    const figures: Figures = { turn: null, drains: [] };
    const table = [['measured', 'tenants', 'runs', 'figure', 'core-µs']];
    const turnFindings = await findingsOf(Object.values(turnBounds), async () => {
      const turn = await measureTurn(run);
      figures.turn = turn;
      table.push(...turnRows(turn, settings.waiting));
      return judgeTurns(turn);
    });
    const many = settings.quick ? [10, 100] : [100, 10_000];
    const flatFindings = await findingsOf(many.map(flat), async () => {
      figures.drains = await measureDrains(run, [1, ...many]);
      table.push(...figures.drains.map((drain) => drainRow(drain, settings.jobs)));
      const [one, ...rates] = figures.drains.map(({ rounds }) => drainSpread(rounds).median);
      return many.map((tenants, i) => flat(tenants).judge(rates[i]! / one!));
    });
    return {
      method: `Tenants are ${settings.tenants}. Turn: ${count(turnSlots)} slots, all busy with runs of one tenant of 0.5 to 1.5 s each, and ${count(settings.waiting)} of them submitted before; another tenant submits single jobs one after the other. Counted from when its job was accepted until it started: runs of the large tenant that start before it (none, when it gets the next slot; one, when a claim was under way), and slots freed, which is when the code of a run ends, before its outcome is recorded and the slot is given on. Then ten schedules of high priority fire every second. Drained: ${count(settings.jobs)} jobs, of several tenants the first has the oldest two fifths and the others equal shares of the rest, ${count(drainSlots)} slots, median of interleaved rounds (${settings.rounds}). Every run was started and recorded exactly once, the whole backlog included. core-µs: processor time per job, of PostgreSQL + of the Node process.`,
      machineParts: ['node', 'postgres'],
      table,
      findings: [...turnFindings, ...flatFindings],
      figures,
    };
  },
};

async function measureTurn(run: CarillonRun): Promise<TurnFigures> {
  const { quick, tenants, waiting } = run.settings;
  const order = {
    tenantKind: tenants,
    slots: turnSlots,
    waiting,
    probes: quick ? 5 : 100,
    cronSeconds: quick ? 3 : 20,
    runMs,
    patienceMs: quick ? 3_000 : 30_000,
  };
  const figures = await onDatabase(run.urls, (store) => askTurn(run, store, order));
  const before = figures.turns.map(({ overtakenBy }) => overtakenBy).join(', ');
  run.log(`fairness: runs that started before: ${before}${unstartedWords(figures.turns)}`);
  return figures;
}

async function measureDrains(run: CarillonRun, tenantCounts: readonly number[]): Promise<Figures['drains']> {
  const { settings, urls, abort, log } = run;
  const { jobs } = settings;
  const drains = tenantCounts.map((tenants) => ({ tenants, rounds: [] as DrainFigures[] }));
  for (let round = 1; round <= settings.rounds; round += 1) {
    for (const { tenants, rounds } of drains) {
      abort.throwIfAborted();
      const order = {
        slots: drainSlots,
        warmUpJobs: warmUpOf(jobs),
        jobs,
        tenants: { kind: settings.tenants, count: tenants },
      };
      const figures = await onDatabase(urls, (store) => askDrain(run, store, order));
      rounds.push(figures);
      const label = `fairness ${round}/${settings.rounds}, ${count(tenants)} tenants`;
      log(`${label}: drained ${count(figures.drainPerSecond)}/s`);
    }
  }
  return drains;
}

function judgeTurns({ turns, cronDelaysMs }: TurnFigures): Finding[] {
  const overtakenBy = sorted(turns.map((turn) => turn.overtakenBy));
  const unstarted = unstartedWords(turns);
  const judge = (share: number, { judge }: Bound) => {
    const runs = percentile(overtakenBy, share);
    return judge(unstarted === '' ? runs : Number.POSITIVE_INFINITY, `${count(runs)}${unstarted}`);
  };
  return [
    judge(0.5, turnBounds.p50),
    judge(0.99, turnBounds.p99),
    turnBounds.cron.judge(percentile(sorted(cronDelaysMs), 0.99)),
  ];
}

function sorted(figures: readonly number[]): number[] {
  return figures.toSorted((a, b) => a - b);
}

function unstartedWords(turns: readonly Turn[]): string {
  const late = turns.find(({ hasStarted }) => !hasStarted);
  return late ? `; one was still waiting after ${milliseconds(late.delayMs)}` : '';
}

function turnRows({ turns, cronDelaysMs, drainPerSecond }: TurnFigures, waiting: number): string[][] {
  const row = (what: string, figures: readonly number[]) => {
    const words = [0.5, 0.99, 1].map((share) => count(percentile(sorted(figures), share))).join(' / ');
    return [`${what}: p50 / p99 / max`, '2', count(waiting), words, '–'];
  };
  const turnRow = (what: string, figure: 'overtakenBy' | 'slotsFreed' | 'delayMs') =>
    row(
      what,
      turns.map((turn) => turn[figure]),
    );
  return [
    turnRow('runs of the large tenant that start before', 'overtakenBy'),
    turnRow('slots freed until a start', 'slotsFreed'),
    turnRow('ms from submit to start', 'delayMs'),
    row('ms from the instant of a schedule to its start', cronDelaysMs),
    ['the backlog, drained afterwards', '2', count(waiting), `${count(drainPerSecond)}/s`, '–'],
  ];
}

function drainRow({ tenants, rounds }: Figures['drains'][number], jobs: number): string[] {
  const rates = rangeWords(drainSpread(rounds), '/s');
  return ['drained (min–max)', count(tenants), count(jobs), rates, splitWords(drainCost(rounds))];
}
