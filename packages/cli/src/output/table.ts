/**
 * Rows in columns that fit the terminal: where it is too narrow, the least important columns are left out and then the widest
 * are cut, ids never; no line is wrapped. Where the output is not a terminal nothing is cut, so that other programs get all of it.
 */
import { plainText } from './text.ts';

export interface Column<T> {
  readonly header: string;
  readonly value: (item: T) => string | number | null | undefined;
  /** Never cut: an id or a time is of no use without its end. */
  readonly fixed?: boolean;
  readonly right?: boolean;
  /** How important it is: where the terminal is too narrow, the largest rank is left out first. Its place, unless said. */
  readonly rank?: number;
  /** Cut to less than this it says nothing. */
  readonly usefulWidth?: number;
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

/** A column with the texts of its cells. */
interface Filled<T> {
  readonly column: Column<T>;
  readonly texts: readonly string[];
  readonly rank: number;
  /** Of its widest text. */
  readonly natural: number;
}

export function renderTable<T>(
  all: readonly Column<T>[],
  items: readonly T[],
  { width, paintHeader }: TableOptions,
): string {
  const filled = all.map((column, i): Filled<T> => {
    const texts = items.map((item) => plainText(String(column.value(item) ?? '')));
    const natural = Math.max(widthOf(column.header), ...texts.map(widthOf));
    return { column, texts, rank: column.rank ?? i + 1, natural };
  });
  const { columns, widths } = fit(filled, width);
  const line = (
    cellOf: (one: Filled<T>) => { text: string; paint?: ((text: string) => string) | undefined },
  ) => {
    const cells = columns.map((one, i) => {
      const { text, paint = (plain) => plain } = cellOf(one);
      const shown = cut(text, widths[i] ?? 0);
      const padding = ' '.repeat((widths[i] ?? 0) - widthOf(shown));
      return one.column.right ? padding + paint(shown) : paint(shown) + padding;
    });
    return cells.join(' '.repeat(GAP)).trimEnd();
  };
  return [
    line(({ column }) => ({ text: column.header, paint: paintHeader })),
    ...items.map((item, row) =>
      line(({ column: { paint }, texts }) => ({
        text: texts[row] ?? '',
        paint: paint && ((text) => paint(text, item)),
      })),
    ),
  ].join('\n');
}

function fit<T>(
  columns: readonly Filled<T>[],
  width: number | undefined,
): { columns: readonly Filled<T>[]; widths: readonly number[] } {
  if (width === undefined) return { columns, widths: columns.map(({ natural }) => natural) };
  const available = width - GAP * (columns.length - 1);
  const widths = narrowed(columns, available);
  const isUseful = columns.every(({ natural, column }, i) => {
    return (widths[i] ?? 0) >= Math.min(natural, column.usefulWidth ?? USEFUL_WIDTH);
  });
  if ((isUseful && sum(widths) <= available) || columns.length <= COLUMNS_MIN) return { columns, widths };
  const least = Math.max(...columns.map(({ rank }) => rank));
  const leftOut = columns.findLastIndex(({ rank }) => rank === least);
  return fit(columns.toSpliced(leftOut, 1), width);
}

/** Takes from the widest column that may be cut, until all fit or none can be cut further. */
function narrowed<T>(columns: readonly Filled<T>[], available: number): number[] {
  const widths = columns.map(({ natural }) => natural);
  const isCuttable = (i: number) => !columns[i]?.column.fixed;
  while (sum(widths) > available) {
    const widest = Math.max(...widths.filter((_, i) => isCuttable(i)));
    if (widest <= COLUMN_MIN) break;
    widths[widths.findIndex((one, i) => one === widest && isCuttable(i))] = widest - 1;
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
