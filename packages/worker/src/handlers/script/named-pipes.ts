/**
 * Pipes between a script and the worker. Node connects children by sockets, which a script cannot open by name (`> /dev/stderr` fails);
 * these can be, by the user of the run. They have names only until both ends are open, in a folder that still is the worker's own.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, fchownSync, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { UserIds } from './run-folder.ts';

const run = promisify(execFile);

export interface NamedPipe {
  readonly reader: Socket;
  /** A descriptor for the child; to be closed here once it has it. */
  readonly writer: number;
}

export async function makePipes(
  folder: string,
  { owner, count }: { owner: UserIds | undefined; count: number },
): Promise<NamedPipe[]> {
  const paths = Array.from({ length: count }, (_, i) => join(folder, `.pipe-${i}`));
  await run('mkfifo', ['-m', '600', ...paths], { env: { PATH: '/usr/bin:/bin' } });
  return paths.map((path) => openPipe(path, owner));
}

function openPipe(path: string, owner: UserIds | undefined): NamedPipe {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  // Not blocking: nobody writes yet. Then the end for the child opens at once.
  const end = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (owner) fchownSync(end, owner.uid, owner.gid);
  const writer = openSync(path, O_WRONLY | O_NOFOLLOW);
  unlinkSync(path);
  return { reader: new Socket({ fd: end, readable: true, writable: false }), writer };
}

export function closeWriters(pipes: readonly NamedPipe[]): void {
  for (const { writer } of pipes) closeSync(writer);
}
