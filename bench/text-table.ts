/** Tables in Markdown that read as well on a terminal, and the figures in them. */
import type { CoreUsPerJob } from './process-use.ts';
import type { Spread } from './summary.ts';

export function textTable(rows: readonly (readonly string[])[]): string {
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

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function milliseconds(value: number): string {
  return `${count(value)} ms`;
}

/** Of a million bytes: bars in MB are held against the stricter reading. */
export function megabytes(bytes: number): string {
  return `${count(bytes / 1e6)} MB`;
}

/** Processor time per job, store first. Results that were written before it was measured have none. */
export function splitWords(split: CoreUsPerJob | null | undefined): string {
  return split ? `${split.store.toFixed(1)} + ${split.system.toFixed(1)}` : '–';
}

/** The same behind a rate, where it was measured. */
export function costWords(split: CoreUsPerJob | null): string {
  return split ? ` (core-µs per job: ${splitWords(split)})` : '';
}

/** Median, and the range in brackets. */
export function rangeWords(spread: Spread | null, unit = ''): string {
  return spread ? `${count(spread.median)}${unit} (${count(spread.min)}–${count(spread.max)})` : '–';
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}
