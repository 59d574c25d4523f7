/** The report of a workload of Carillon alone: its figures, and each bar with what was measured and the verdict. */
import type { Finding } from './finding.ts';
import type { Machine } from './machine.ts';
import { type MachinePart, machineFacts } from './machine-facts.ts';
import { textTable } from './text-table.ts';

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

export function renderCarillonReport(report: CarillonReport): string {
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
