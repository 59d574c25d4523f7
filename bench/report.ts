/**
 * The report of a workload: a table for people on the terminal, the same in bench/results/README.md, and all the figures
 * of all the rounds in bench/results/<workload>.json. What was not met, not measured or failed is said as plainly.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drainRatio, judgeDrain, type Verdict } from './bars.ts';
import type { Machine } from './machine.ts';
import type { Spread, SystemSummary } from './summary.ts';

export type Report = {
  readonly workload: string;
  readonly date: string;
  readonly jobs: number;
  readonly warmUpJobs: number;
  readonly rounds: number;
  readonly machine: Machine;
  readonly systems: readonly SystemSummary[];
  readonly bars: readonly Verdict[];
};

export function makeReport(facts: Omit<Report, 'bars'>): Report {
  return { ...facts, bars: judgeDrain(facts.systems) };
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

export function renderReport(report: Report): string {
  const header = ['system', 'submit jobs/s', 'drain jobs/s', 'history kept', 'Carillon drains'];
  const rows = report.systems.map((system) => [
    system.version ? `${system.name} ${system.version}` : system.name,
    cell(system.submit),
    cell(system.drain),
    system.keepsHistory === null ? '–' : system.keepsHistory ? 'yes' : 'no, deletes',
    system.name === 'carillon' ? '–' : times(drainRatio(report.systems, system.name)),
  ]);
  const problems = report.systems.filter(({ problem }) => problem !== null);
  return [
    `${report.date}, ${count(report.jobs)} jobs per system and round (warm-up ${count(report.warmUpJobs)}), interleaved rounds: ${report.rounds}. Median (min–max).`,
    table([header, ...rows]),
    ...problems.map(({ name, problem }) => `${name}: ${problem}`),
    table([['bar', 'Carillon drains', 'measured', 'verdict'], ...report.bars.map(barRow)]),
    'river is written in Go and is not run here. Compare figures within one run only, as ratios: they move with the machine.',
    machineFacts(report.machine),
  ].join('\n\n');
}

function barRow({ bar, against, ratioMin, ratio, verdict }: Verdict): string[] {
  return [bar, `≥ ${ratioMin} × ${against}`, times(ratio), verdict];
}

function machineFacts(machine: Machine): string {
  const settings = Object.entries(machine.postgresSettings).map(([name, value]) => `${name} = ${value}`);
  return [
    `- Machine: ${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, ${machine.system}; load before the run ${machine.loadBefore}`,
    `- Node ${machine.node}; load generator and system share one process, and all share the cores`,
    `- PostgreSQL ${machine.postgres}, durable commits (fdatasync here: ${machine.fdatasyncMs} ms); beyond its defaults: ${settings.join(', ') || 'nothing'}`,
    `- Redis ${machine.redis}`,
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`;
  const [header, ...body] = rows;
  return [
    line(header!),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...body.map(line),
  ].join('\n');
}

function cell(spread: Spread | null): string {
  return spread ? `${count(spread.median)} (${count(spread.min)}–${count(spread.max)})` : '–';
}

function times(ratio: number | null): string {
  return ratio === null ? 'not measured' : `${ratio.toFixed(2)} ×`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
