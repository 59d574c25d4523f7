/**
 * A note in a folder of what folder it lies in: its inode number, and when it was made, to the nanosecond. Nobody elsewhere can know
 * these, and no copy, archive or clone keeps them; so a note that agrees was written in this very folder, whatever its other files claim.
 */
import type { BigIntStats } from 'node:fs';

export type FolderBirth = Pick<BigIntStats, 'ino' | 'birthtimeNs' | 'ctimeNs'>;

/** The file in the folder. */
export const BIRTH_RECORD = 'made-here';

export function birthRecord({ ino, birthtimeNs }: FolderBirth): string {
  return `${JSON.stringify({ inode: String(ino), born: String(birthtimeNs) })}\n`;
}

/** `record`: undefined where there is none, which agrees with nothing. */
export function agreesWithBirth(
  record: string | undefined,
  { ino, birthtimeNs, ctimeNs }: FolderBirth,
): boolean {
  const recorded = parse(record);
  // Some file systems do not tell: nothing, or when the folder was changed last. Then its number has to do.
  return birthtimeNs === 0n || birthtimeNs === ctimeNs
    ? recorded?.inode === String(ino)
    : recorded?.born === String(birthtimeNs);
}

function parse(text: string | undefined): { inode?: unknown; born?: unknown } | undefined {
  try {
    return JSON.parse(text ?? '') ?? undefined;
  } catch {
    return undefined;
  }
}
