/**
 * Files that an attempt of a run left, as one text of bytes: the files one after the other, an index as JSON that says where each is, and
 * at the very end how long the index is. Who reads it needs to know nothing else, and one whose end is missing is known as such.
 */

export interface ArtifactEntry {
  readonly name: string;
  /** Of its first byte. */
  readonly offset: number;
  readonly bytes: number;
}

export interface ArtifactIndex {
  /** By the clock of whoever collected them. */
  readonly keptAtMs: number;
  readonly files: readonly ArtifactEntry[];
}

/** Files of one attempt. */
export const ARTIFACTS_MAX = 100;
export const ARTIFACT_NAME_LENGTH_MAX = 200;
/** At its end: how many bytes the index before it has. */
export const ARTIFACT_END_BYTES = 24;
/** As many names as there may be, as long as they may be, with their numbers. */
export const ARTIFACT_INDEX_BYTES_MAX = 128 * 1_024;

const END = /^carillon-files (\d{9})$/;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}/]/u;
const DATE_MS_MAX = 8.64e15;

/** It becomes a part of headers, pages and lines on terminals. */
export function isArtifactName(name: string): boolean {
  if (name === '' || name === '.' || name === '..') return false;
  return name.length <= ARTIFACT_NAME_LENGTH_MAX && !UNPRINTABLE.test(name);
}

/** What follows the files. */
export function writeArtifactIndex(index: ArtifactIndex): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(index));
  const end = new TextEncoder().encode(`carillon-files ${String(text.length).padStart(9, '0')}`);
  const all = new Uint8Array(text.length + end.length);
  all.set(text);
  all.set(end, text.length);
  return all;
}

/** How many bytes the index has. Undefined: these bytes are not the end of one. */
export function readArtifactEnd(end: Uint8Array): number | undefined {
  const [, digits] = END.exec(new TextDecoder().decode(end)) ?? [];
  const bytes = Number(digits);
  return digits === undefined || bytes > ARTIFACT_INDEX_BYTES_MAX ? undefined : bytes;
}

/** Undefined: it is none, or says what cannot be. Whoever sent it may be a worker that lies. bytes: of all the files. */
export function readArtifactIndex(
  text: string,
  { bytes }: { readonly bytes: number },
): ArtifactIndex | undefined {
  try {
    const { keptAtMs, files } = JSON.parse(text) as ArtifactIndex;
    if (!isCount(keptAtMs, DATE_MS_MAX) || !Array.isArray(files) || files.length > ARTIFACTS_MAX)
      return undefined;
    const read = files.map(({ name, offset, bytes: length }: ArtifactEntry) => ({
      name,
      offset,
      bytes: length,
    }));
    const isTrue = read.every(
      (file) =>
        typeof file.name === 'string' &&
        isArtifactName(file.name) &&
        isCount(file.offset, bytes) &&
        isCount(file.bytes, bytes - file.offset),
    );
    const names = new Set(read.map(({ name }) => name));
    return isTrue && names.size === read.length ? { keptAtMs, files: read } : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;
}
