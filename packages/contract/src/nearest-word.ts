/**
 * The known word that a misspelt or shortened one most likely meant (`retries`: `max_retries`); undefined when none is close enough to be
 * a help.
 */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const words = [...known];
  const { best, distance } = closest(word, words);
  // One letter that is wrong says more than a word that is within many.
  return distance <= 1 ? best : (containing(word, words) ?? best);
}

function closest(word: string, known: readonly string[]): { best: string | undefined; distance: number } {
  const wanted = plain(word);
  let best: string | undefined;
  // Two letters swapped are a distance of two; in a very short word that would fit anything.
  let bestDistance = (wanted.length < 4 ? 1 : Math.max(2, Math.floor(wanted.length / 3))) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, plain(candidate), bestDistance);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return { best, distance: bestDistance };
}

/** Shorter ones are part of too many. */
const PART_LENGTH_MIN = 4;

/** The only one that has this as one of its words, or as several that follow each other; of several, the only one that begins with it. */
function containing(word: string, known: readonly string[]): string | undefined {
  const wanted = withBounds(word);
  if (wanted.length < PART_LENGTH_MIN + 2) return undefined;
  const found = known.filter((candidate) => withBounds(candidate).includes(wanted));
  const beginning = found.filter((candidate) => withBounds(candidate).startsWith(wanted));
  const [one, second] = found.length > 1 ? beginning : found;
  return second === undefined ? one : undefined;
}

function withBounds(word: string): string {
  return `_${word.slice(0, 64).toLowerCase().replaceAll(/[-. ]/g, '_')}_`;
}

/** Case and separators are the commonest mistakes and count for nothing. Cut, because the words come from strangers. */
function plain(word: string): string {
  return word
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[-_. ]/g, '');
}

/** Levenshtein; anything at or above the limit is answered as the limit. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return Math.min(row[b.length]!, limit);
}
