/** Colours that programs write for terminals, as spans of text. Everything else that a terminal would obey is left out. */

export interface Span {
  readonly text: string;
  /** 0 to 15: the colours of a terminal. */
  readonly colour?: number | undefined;
  readonly bold?: boolean | undefined;
}

/** CSI sequences, OSC sequences up to their end, single escapes, and every other control character but the tab. */
const ESC = '\\x1b';
const ESCAPES = new RegExp(
  [
    `${ESC}\\[([0-9;?]*)([@-~])`,
    `${ESC}\\][^\\x07\\x1b]*(?:\\x07|${ESC}\\\\)?`,
    `${ESC}[@-_]?`,
    '(?!\\t)\\p{Cc}',
  ].join('|'),
  'gu',
);
const CONTROL = /(?!\t)\p{Cc}/u;

export function spansOf(line: string): readonly Span[] {
  if (!CONTROL.test(line)) return [{ text: line }];
  const spans: Span[] = [];
  let style: Omit<Span, 'text'> = {};
  let from = 0;
  for (const match of line.matchAll(ESCAPES)) {
    if (match.index > from) spans.push({ text: line.slice(from, match.index), ...style });
    from = match.index + match[0].length;
    if (match[2] === 'm') style = styleAfter(style, match[1] ?? '');
  }
  if (from < line.length) spans.push({ text: line.slice(from), ...style });
  return spans;
}

function styleAfter(before: Omit<Span, 'text'>, codes: string): Omit<Span, 'text'> {
  let style = before;
  const given = codes.split(';').map(Number);
  for (let at = 0; at < given.length; at += 1) {
    const code = given[at]!;
    if (code === 0) style = {};
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 22) style = { ...style, bold: false };
    else if (code >= 30 && code <= 37) style = { ...style, colour: code - 30 };
    else if (code === 39) style = { ...style, colour: undefined };
    else if (code >= 90 && code <= 97) style = { ...style, colour: code - 82 };
    else if (code === 38 || code === 48 || code === 58) {
      // A colour out of 256, or by red, green and blue: what follows is no code. Only the 16 of a terminal are shown.
      const isIndexed = given[at + 1] === 5;
      if (code === 38) style = { ...style, colour: isIndexed ? ofTerminal(given[at + 2]) : undefined };
      at += isIndexed ? 2 : given[at + 1] === 2 ? 4 : 1;
    }
  }
  return style;
}

function ofTerminal(index: number | undefined): number | undefined {
  return index !== undefined && index < 16 ? index : undefined;
}
