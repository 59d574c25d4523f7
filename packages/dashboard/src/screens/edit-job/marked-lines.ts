/**
 * Two texts line by line: which lines stay, which are removed and added, and within a line that was changed, which part of it. Pure.
 * Bounded: of long texts, the lines between the first and the last difference are shown as removed and added, without a search for
 * those in between that stayed.
 */

export interface Part {
  readonly text: string;
  /** Differs from the line on the other side. */
  readonly changed: boolean;
}

export interface Line {
  readonly kind: 'same' | 'removed' | 'added';
  readonly parts: readonly Part[];
}

export interface MarkedLines {
  readonly before: readonly Line[];
  readonly after: readonly Line[];
}

/** Lines compared with each other: a quarter of a million comparisons. */
const COMPARED_MAX = 500;

export function markedLines(before: string, after: string): MarkedLines {
  const [was, is] = [before.split('\n'), after.split('\n')];
  const shared = sharedLines(was, is);
  const left: Line[] = [];
  const right: Line[] = [];
  let [i, j] = [0, 0];
  for (const [toI, toJ] of [...shared, [was.length, is.length] as const]) {
    const [removed, added] = [was.slice(i, toI), is.slice(j, toJ)];
    for (const [at, text] of removed.entries()) left.push(lineOf('removed', text, added[at]));
    for (const [at, text] of added.entries()) right.push(lineOf('added', text, removed[at]));
    if (toI < was.length && toJ < is.length) {
      const same: Line = { kind: 'same', parts: [{ text: was[toI]!, changed: false }] };
      left.push(same);
      right.push(same);
    }
    [i, j] = [toI + 1, toJ + 1];
  }
  return { before: left, after: right };
}

/** other: the line that took its place. Where nothing stays, or everything does, no part stands out. */
function lineOf(kind: 'removed' | 'added', text: string, other: string | undefined): Line {
  const whole: Line = { kind, parts: [{ text, changed: false }] };
  if (other === undefined) return whole;
  const start = sharedLength(text, other, (one, at) => one[at]);
  const rest = Math.min(text.length, other.length) - start;
  const end = Math.min(
    rest,
    sharedLength(text, other, (one, at) => one[one.length - 1 - at]),
  );
  if (start + end === 0 || start + end === text.length) return whole;
  const parts = [
    { text: text.slice(0, start), changed: false },
    { text: text.slice(start, text.length - end), changed: true },
    { text: text.slice(text.length - end), changed: false },
  ];
  return { kind, parts: parts.filter((part) => part.text !== '') };
}

function sharedLength(
  one: string,
  other: string,
  at: (text: string, index: number) => string | undefined,
): number {
  const longest = Math.min(one.length, other.length);
  let length = 0;
  while (length < longest && at(one, length) === at(other, length)) length += 1;
  return length;
}

/** The places of a longest sequence of lines that both have, in order. */
function sharedLines(was: readonly string[], is: readonly string[]): (readonly [number, number])[] {
  const shortest = Math.min(was.length, is.length);
  let start = 0;
  while (start < shortest && was[start] === is[start]) start += 1;
  let end = 0;
  while (end < shortest - start && was[was.length - 1 - end] === is[is.length - 1 - end]) end += 1;
  const [rows, columns] = [was.length - start - end, is.length - start - end];
  const found = Array.from({ length: start }, (_, at) => [at, at] as const);
  if (rows <= COMPARED_MAX && columns <= COMPARED_MAX) {
    const width = columns + 1;
    const lengths = new Uint16Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; i -= 1)
      for (let j = columns - 1; j >= 0; j -= 1)
        lengths[i * width + j] =
          was[start + i] === is[start + j]
            ? lengths[(i + 1) * width + j + 1]! + 1
            : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    for (let i = 0, j = 0; i < rows && j < columns; ) {
      if (was[start + i] === is[start + j]) {
        found.push([start + i, start + j]);
        [i, j] = [i + 1, j + 1];
      } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i += 1;
      else j += 1;
    }
  }
  for (let at = end; at > 0; at -= 1) found.push([was.length - at, is.length - at]);
  return found;
}
