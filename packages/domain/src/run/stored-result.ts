/** A result that is too large for the database: what stands there for it says where it is. */

export interface StoredResult {
  readonly bytes: number;
  /** By which it is kept, in UTC, such as 2030-01-31. */
  readonly day: string;
  /** The server that has it in a folder of its own; undefined: every server reaches it. */
  readonly server?: string | undefined;
  /** In a store that all servers write to: which of them did. Results from before have none. */
  readonly writer?: string | undefined;
}

const MARK = '$stored';
const MARK_LENGTH_MAX = 300;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** It becomes a part of the name of a file or an object: a handler may answer a text of this form. */
const WRITER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** JSON text, as the outcome of a run holds it. */
export function writeStoredResult({ bytes, day, server, writer }: StoredResult): string {
  return JSON.stringify({ [MARK]: { bytes, day, server, writer } });
}

/** Whether a result has the member by which a stored one is known, well formed or not: the storage may spell it shorter. */
export function hasStoredMark(result: string): boolean {
  if (!result.includes(MARK)) return false;
  const value = JSON.parse(result) as unknown;
  return typeof value === 'object' && value !== null && Object.hasOwn(value, MARK);
}

/** Undefined: the text is the result itself. */
export function readStoredResult(result: string | undefined): StoredResult | undefined {
  if (result === undefined || result.length > MARK_LENGTH_MAX || !result.includes(MARK)) return undefined;
  try {
    const stored = (JSON.parse(result) as Record<typeof MARK, Record<string, unknown>>)[MARK];
    const { bytes, day, server, writer } = stored;
    const isStored =
      Number.isSafeInteger(bytes) && typeof day === 'string' && DAY.test(day) && Number(bytes) >= 0;
    if (!isStored || (server !== undefined && typeof server !== 'string')) return undefined;
    if (writer !== undefined && (typeof writer !== 'string' || !WRITER.test(writer))) return undefined;
    return { bytes: Number(bytes), day, server, writer };
  } catch {
    return undefined;
  }
}
