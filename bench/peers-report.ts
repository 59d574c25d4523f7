/** The report of a workload that all systems play: each system's figures, and the bars against each peer. */
import { judgePeers, type Phase, ratioTo, type Verdict } from './bars.ts';
import type { CoreUsPerJob } from './cpu-time.ts';
import type { Machine } from './machine.ts';
import { machineFacts } from './machine-facts.ts';
import type { Spread, SystemSummary } from './summary.ts';
import { count, splitWords, textTable, times } from './text-table.ts';

export type PeersReport = {
  readonly workload: string;
  readonly date: string;
  readonly jobs: number;
  readonly warmUpJobs: number;
  readonly rounds: number;
  readonly machine: Machine;
  readonly systems: readonly SystemSummary[];
  readonly bars: readonly Verdict[];
};

const header = [
  'system',
  'submit jobs/s',
  'core-µs',
  'Carillon submits',
  'drain jobs/s',
  'core-µs',
  'Carillon drains',
  'history kept',
];

export function makePeersReport(facts: Omit<PeersReport, 'bars'>): PeersReport {
  return { ...facts, bars: judgePeers(facts.systems) };
}

export function renderPeersReport(report: PeersReport): string {
  const { systems } = report;
  const ratio = ({ name }: SystemSummary, phase: Phase) =>
    name === 'carillon' ? '–' : ratioCell(ratioTo(systems, phase, name));
  const rows = systems.map((system) => [
    system.version ? `${system.name} ${system.version}` : system.name,
    rateCell(system.submit),
    splitCell(system.submitCoreUs),
    ratio(system, 'submit'),
    rateCell(system.drain),
    splitCell(system.drainCoreUs),
    ratio(system, 'drain'),
    system.keepsHistory === null ? '–' : system.keepsHistory ? 'yes' : 'no, deletes',
  ]);
  const problems = systems.filter(({ problem }) => problem !== null);
  return [
    `${report.date}, ${count(report.jobs)} jobs per system and round (warm-up ${count(report.warmUpJobs)}), interleaved rounds: ${report.rounds}. Median (min–max). core-µs: processor time per job, of the store (all processes of PostgreSQL; of Redis for BullMQ) + of the system (its Node process; river's in Go).`,
    textTable([header, ...rows]),
    ...problems.map(({ name, problem }) => `${name}: ${problem}`),
    // Judged anew, so that figures of an earlier run stand beside the bars of today.
    textTable([['bar', 'Carillon', 'measured', 'verdict'], ...judgePeers(systems).map(barRow)]),
    'Compare figures within one run only, as ratios: they move with the machine.',
    machineFacts(report.machine, ['node', 'postgres', 'redis']),
  ].join('\n\n');
}

function barRow({ bar, phase, against, ratioMin, ratio, verdict }: Verdict): string[] {
  const peers = against.length > 1 ? `the faster of ${against.join(' and ')}` : against[0]!;
  return [bar, `${phase}s ≥ ${ratioMin} × ${peers}`, ratioCell(ratio), verdict];
}

function rateCell(spread: Spread | null): string {
  return spread ? `${count(spread.median)} (${count(spread.min)}–${count(spread.max)})` : '–';
}

/** Results that were written before the split was measured have none. */
function splitCell(split: CoreUsPerJob | null | undefined): string {
  return split ? splitWords(split) : '–';
}

function ratioCell(ratio: number | null): string {
  return ratio === null ? 'not measured' : times(ratio);
}
