/**
 * Rows in columns that fit the terminal: where it is too narrow, the last columns are left out and then the widest are
 * cut, ids never. Where the output is not a terminal nothing is cut, so that other programs get all of it.
 */
import { plainText } from './text.ts';

export interface Column<T> {
  readonly header: string;
  readonly value: (item: T) => string | number | null | undefined;
  /** Never cut: an id or a time is of no use without its end. */
  readonly fixed?: boolean;
  readonly right?: boolean;
  /** Applied after the text was cut: colours take no columns. */
  readonly paint?: (text: string, item: T) => string;
}

export interface TableOptions {
  /** Undefined: nothing is cut. */
  readonly width: number | undefined;
  readonly paintHeader: (text: string) => string;
}

const GAP = 2;
/** A column that would be cut to less than this is of no use: rather leave out another one. */
const USEFUL_WIDTH = 12;
const COLUMNS_MIN = 3;
const COLUMN_MIN = 6;

export function renderTable<T>(
  all: readonly Column<T>[],
  items: readonly T[],
  { width, paintHeader }: TableOptions,
): string {
  const rows = items.map((item) => all.map(({ value }) => plainText(String(value(item) ?? ''))));
  const natural = all.map(({ header }, i) =>
    Math.max(widthOf(header), ...rows.map((row) => widthOf(row[i] ?? ''))),
  );
  const { columns, widths } = fit(all, natural, width);
  const line = (texts: readonly string[], paint: (text: string, column: Column<T>) => string) => {
    const cells = columns.map((column, i) => {
      const text = cut(texts[i] ?? '', widths[i] ?? 0);
      const padding = ' '.repeat((widths[i] ?? 0) - widthOf(text));
      return column.right ? padding + paint(text, column) : paint(text, column) + padding;
    });
    return cells.join(' '.repeat(GAP)).trimEnd();
  };
  const headers = all.map(({ header }) => header);
  return [
    line(headers, paintHeader),
    ...items.map((item, i) => line(rows[i] ?? [], (text, { paint }) => paint?.(text, item) ?? text)),
  ].join('\n');
}

function fit<T>(
  columns: readonly Column<T>[],
  natural: readonly number[],
  width: number | undefined,
): { columns: readonly Column<T>[]; widths: readonly number[] } {
  if (width === undefined) return { columns, widths: natural };
  const available = width - GAP * (columns.length - 1);
  const widths = narrowed(columns, natural, available);
  const isUseful = widths.every((one, i) => one >= Math.min(natural[i] ?? 0, USEFUL_WIDTH));
  if ((isUseful && sum(widths) <= available) || columns.length <= COLUMNS_MIN) return { columns, widths };
  return fit(columns.slice(0, -1), natural.slice(0, -1), width);
}

/** Takes from the widest column that may be cut, until all fit or none can be cut further. */
function narrowed<T>(columns: readonly Column<T>[], natural: readonly number[], available: number): number[] {
  const widths = [...natural];
  while (sum(widths) > available) {
    const widest = Math.max(...widths.filter((_, i) => !columns[i]?.fixed));
    if (widest <= COLUMN_MIN) break;
    widths[widths.findIndex((one, i) => one === widest && !columns[i]?.fixed)] = widest - 1;
  }
  return widths;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const { segment } of SEGMENTS.segment(text)) {
    if (widthOf(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

const SEGMENTS = new Intl.Segmenter('en', { granularity: 'grapheme' });
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u;

/** Columns on a terminal: East Asian characters and emoji take two. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
