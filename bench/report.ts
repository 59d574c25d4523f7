/**
 * The reports of a run: a table for people on the terminal, the same in bench/results/README.md, and all the figures in
 * bench/results/<workload>.json. What was not met, not measured or failed is said as plainly.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CarillonReport, renderCarillonReport } from './carillon-report.ts';
import { type PeersReport, renderPeersReport } from './peers-report.ts';

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
