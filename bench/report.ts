/**
 * The reports of a run: a table for people on the terminal, the same in bench/results/README.md, and all the figures in
 * bench/results/<workload>.json. What was not met, not measured or failed is said as plainly.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgePeers, type Phase, ratioTo, type Verdict } from './bars.ts';
import type { Finding } from './findings.ts';
import { type Machine, type MachinePart, machineFacts } from './machine.ts';
import type { SystemSummary } from './summary.ts';
import { count, rangeWords, splitWords, textTable, times } from './text-table.ts';

export type Report = PeersReport | CarillonReport;

export function renderReport(report: Report): string {
  return 'findings' in report ? renderCarillonReport(report) : renderPeersReport(report);
}

/** A run of some workloads replaces their results and leaves those of the others in place. */
export function writeReports(folder: string, reports: readonly Report[]): void {
  mkdirSync(folder, { recursive: true });
  for (const report of reports) {
    writeFileSync(join(folder, `${report.workload}.json`), `${JSON.stringify(report, null, 2)}\n`);
  }
  const all = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report);
  writeFileSync(join(folder, 'README.md'), [readmeTop, ...all.map(renderSection)].join('\n\n').concat('\n'));
}

const readmeTop = `# Benchmark results

Written by \`npm run bench\`: the figures of the last run of each workload, whatever they were.`;

function renderSection(report: Report): string {
  return `## ${report.workload}\n\n${renderReport(report)}`;
}

/** Of a workload of Carillon alone: its figures, and each bar with what was measured and the verdict. */
export type CarillonReport = {
  readonly workload: string;
  readonly date: string;
  /** Sizes were cut: good for finding out that the bench works, and for nothing else. */
  readonly quick: boolean;
  readonly machine: Machine;
  readonly machineParts: readonly MachinePart[];
  /** How it was measured, in a sentence or two. */
  readonly method: string;
  readonly table: readonly (readonly string[])[];
  readonly findings: readonly Finding[];
  /** Everything measured, unrounded. */
  readonly figures: unknown;
};

function renderCarillonReport(report: CarillonReport): string {
  const { date, quick, method, table, findings, machine, machineParts } = report;
  const bars = findings.map(({ bar, what, limit, measured, verdict }) => [
    bar,
    what,
    limit,
    measured,
    quick && verdict !== 'failed' ? 'too small to judge' : verdict,
  ]);
  return [
    `${date}. ${method}`,
    ...(quick ? ['**Quick run: the sizes were cut, so nothing is judged.**'] : []),
    ...(table.length > 1 ? [textTable(table)] : []),
    textTable([['bar', 'what', 'wanted', 'measured', 'verdict'], ...bars]),
    machineFacts(machine, machineParts),
  ].join('\n\n');
}

/** Of the workload that all systems play: each system's figures, and the bars against each peer. */
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

function renderPeersReport(report: PeersReport): string {
  const { systems } = report;
  const ratio = ({ name }: SystemSummary, phase: Phase) =>
    name === 'carillon' ? '–' : ratioCell(ratioTo(systems, phase, name));
  const rows = systems.map((system) => [
    system.version ? `${system.name} ${system.version}` : system.name,
    rangeWords(system.submit),
    splitWords(system.submitCoreUs),
    ratio(system, 'submit'),
    rangeWords(system.drain),
    splitWords(system.drainCoreUs),
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

function ratioCell(ratio: number | null): string {
  return ratio === null ? 'not measured' : times(ratio);
}
