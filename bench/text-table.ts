/** Tables in Markdown that read as well on a terminal, and the figures in them. */
import type { CoreUsPerJob } from './cpu-time.ts';

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

/** Processor time per job, store first. */
export function splitWords({ store, system }: CoreUsPerJob): string {
  return `${store.toFixed(1)} + ${system.toFixed(1)}`;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} ×`;
}
