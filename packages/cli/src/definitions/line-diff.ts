/** Two texts as a unified diff: what is taken away, what is added, and a few lines around. */

const CONTEXT = 3;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** The lines below the heading of a unified diff; none when the texts are equal. */
export function unifiedDiff(before: string, after: string): string[] {
  const lines = compare(linesOf(before), linesOf(after));
  const shown = lines.map((_, i) =>
    lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some(({ mark }) => mark !== ' '),
  );
  const result: string[] = [];
  let [old, fresh] = [1, 1];
  for (let i = 0; i < lines.length; i += 1) {
    if (shown[i] && !shown[i - 1]) {
      const end = shown.indexOf(false, i);
      result.push(heading(lines.slice(i, end < 0 ? undefined : end), old, fresh));
    }
    const { mark, text } = lines[i]!;
    if (shown[i]) result.push(`${mark}${text}`);
    if (mark !== '+') old += 1;
    if (mark !== '-') fresh += 1;
  }
  return result;
}

function heading(hunk: readonly Line[], old: number, fresh: number): string {
  const side = (from: number, without: Line['mark']) => {
    const count = hunk.filter(({ mark }) => mark !== without).length;
    return `${count === 0 ? from - 1 : from},${count}`;
  };
  return `@@ -${side(old, '+')} +${side(fresh, '-')} @@`;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** By the longest common subsequence of lines. */
function compare(before: readonly string[], after: readonly string[]): Line[] {
  const columns = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * columns);
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      longest[i * columns + j] =
        before[i] === after[j]
          ? longest[(i + 1) * columns + j + 1]! + 1
          : Math.max(longest[(i + 1) * columns + j]!, longest[i * columns + j + 1]!);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i]! });
      i += 1;
      j += 1;
    } else if (
      j >= after.length ||
      (i < before.length && longest[(i + 1) * columns + j]! >= longest[i * columns + j + 1]!)
    ) {
      lines.push({ mark: '-', text: before[i]! });
      i += 1;
    } else {
      lines.push({ mark: '+', text: after[j]! });
      j += 1;
    }
  }
  return lines;
}
