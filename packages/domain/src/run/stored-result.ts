/** A result that is too large for the database: what stands there for it says where it is. */

export interface StoredResult {
  readonly bytes: number;
  /** By which it is kept, in UTC, such as 2030-01-31. */
  readonly day: string;
  /** The server that has it in a folder of its own; undefined: every server reaches it. */
  readonly server?: string | undefined;
}

const MARK = '$stored';
const MARK_LENGTH_MAX = 300;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** JSON text, as the outcome of a run holds it. */
export function writeStoredResult({ bytes, day, server }: StoredResult): string {
  return JSON.stringify({ [MARK]: { bytes, day, server } });
}

/** Undefined: the text is the result itself. */
export function readStoredResult(result: string | undefined): StoredResult | undefined {
  if (result === undefined || result.length > MARK_LENGTH_MAX || !result.includes(MARK)) return undefined;
  try {
    const { bytes, day, server } = (JSON.parse(result) as Record<typeof MARK, Record<string, unknown>>)[MARK];
    const isStored =
      Number.isSafeInteger(bytes) && typeof day === 'string' && DAY.test(day) && Number(bytes) >= 0;
    if (!isStored || (server !== undefined && typeof server !== 'string')) return undefined;
    return { bytes: Number(bytes), day, server };
  } catch {
    return undefined;
  }
}
