/**
 * Pipes between a script and the worker. Node connects children by sockets, which a script cannot open by name (`> /dev/stderr` fails);
 * these can be, by the user of the run. They have names only until both ends are open, in a folder that still is the worker's own. Making some costs as
 * much as making many: a few are kept for the runs to come.
 */
import { closeSync, constants, fchownSync, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { UserIds } from './run-folder.ts';
import { type ScriptLauncher, scriptLauncher } from './script-launcher.ts';

export interface NamedPipe {
  readonly reader: Socket;
  /** A descriptor for the child; to be closed here once it has it. */
  readonly writer: number;
}

/** Descriptors, of the worker alone until a run gets them. Each serves one run. */
interface OpenPipe {
  readonly end: number;
  readonly writer: number;
}

const MADE_AT_ONCE = 24;

export class PipeStock {
  readonly #launcher: ScriptLauncher;
  readonly #made: OpenPipe[] = [];

  constructor(launcher: ScriptLauncher) {
    this.#launcher = launcher;
  }

  /** In a folder where the script has never been. */
  async take(
    folder: string,
    { owner, count }: { owner: UserIds | undefined; count: number },
  ): Promise<NamedPipe[]> {
    // Others may take some while more are made.
    while (this.#made.length < count) this.#made.push(...(await this.#make(folder)));
    return this.#made.splice(-count).map(({ end, writer }) => {
      if (owner) fchownSync(end, owner.uid, owner.gid);
      return { reader: new Socket({ fd: end, readable: true, writable: false }), writer };
    });
  }

  async #make(folder: string): Promise<OpenPipe[]> {
    const paths = Array.from({ length: MADE_AT_ONCE }, (_, i) => join(folder, `.pipe-${i}`));
    const end = await this.#launcher.run({
      ...{ command: ['mkfifo', '-m', '600', ...paths], cwd: '/', env: { PATH: '/usr/bin:/bin' } },
    });
    if (end?.code !== 0) throw new Error(`mkfifo in ${folder} ended with ${end?.code ?? end?.signal}`);
    return paths.map(openPipe);
  }
}

function openPipe(path: string): OpenPipe {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  // Not blocking: nobody writes yet. Then the end for the child opens at once.
  const end = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const writer = openSync(path, O_WRONLY | O_NOFOLLOW);
  unlinkSync(path);
  return { end, writer };
}

export function closeWriters(pipes: readonly NamedPipe[]): void {
  for (const { writer } of pipes) closeSync(writer);
}

/** Of this process. */
export const pipeStock = new PipeStock(scriptLauncher);
