/**
 * Builds the program that plays river's part, from bench/peers/river, into an ignored folder. Versions are pinned in its
 * go.mod and go.sum. Where it cannot be built the reason is the answer, and river is skipped with it.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('./river/', import.meta.url));
/** The first build fetches and compiles about twenty modules. */
const buildPatienceMs = 600_000;

export const riverProgram = `${folder}dist/river`;

/** Null when it is built. */
export async function buildRiver(): Promise<string | null> {
  try {
    await run('go', ['build', '-o', riverProgram, '.'], { cwd: folder, timeout: buildPatienceMs });
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return 'no Go on this machine: install one and put it on PATH';
    const said = (error as { stderr?: string }).stderr?.trim() || String(error);
    return `its program cannot be built (${said.split('\n').at(-1)})`;
  }
}

export function riverVersion(): string {
  const pinned = /riverqueue\/river v(\S+)/.exec(readFileSync(`${folder}go.mod`, 'utf8'))?.[1];
  if (pinned === undefined) throw new Error('go.mod names no version of river');
  return pinned;
}
