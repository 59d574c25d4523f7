/** The report of a workload that all systems play: each system's figures, and the bars against each peer. */
import { drainRatio, judgeDrain, type Verdict } from './bars.ts';
import type { Machine } from './machine.ts';
import { machineFacts } from './machine-facts.ts';
import type { Spread, SystemSummary } from './summary.ts';
import { count, textTable, times } from './text-table.ts';

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

export function makePeersReport(facts: Omit<PeersReport, 'bars'>): PeersReport {
  return { ...facts, bars: judgeDrain(facts.systems) };
}

export function renderPeersReport(report: PeersReport): string {
  const header = ['system', 'submit jobs/s', 'drain jobs/s', 'history kept', 'Carillon drains'];
  const rows = report.systems.map((system) => [
    system.version ? `${system.name} ${system.version}` : system.name,
    cell(system.submit),
    cell(system.drain),
    system.keepsHistory === null ? '–' : system.keepsHistory ? 'yes' : 'no, deletes',
    system.name === 'carillon' ? '–' : ratioCell(drainRatio(report.systems, system.name)),
  ]);
  const problems = report.systems.filter(({ problem }) => problem !== null);
  return [
    `${report.date}, ${count(report.jobs)} jobs per system and round (warm-up ${count(report.warmUpJobs)}), interleaved rounds: ${report.rounds}. Median (min–max).`,
    textTable([header, ...rows]),
    ...problems.map(({ name, problem }) => `${name}: ${problem}`),
    textTable([['bar', 'Carillon drains', 'measured', 'verdict'], ...report.bars.map(barRow)]),
    'Compare figures within one run only, as ratios: they move with the machine.',
    machineFacts(report.machine, ['node', 'postgres', 'redis']),
  ].join('\n\n');
}

function barRow({ bar, against, ratioMin, ratio, verdict }: Verdict): string[] {
  return [bar, `≥ ${ratioMin} × ${against}`, ratioCell(ratio), verdict];
}

function cell(spread: Spread | null): string {
  return spread ? `${count(spread.median)} (${count(spread.min)}–${count(spread.max)})` : '–';
}

function ratioCell(ratio: number | null): string {
  return ratio === null ? 'not measured' : times(ratio);
}
