/** A script gets the descriptors that it is given, whatever the server has inherited from whoever started it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { asVariables, containCommand } from './contain-program.ts';
import { probeContainment } from './containment.ts';

const found = await probeContainment(undefined, []);

async function descriptorsOf(command: readonly string[]): Promise<number[]> {
  const planted = await open('/etc/passwd');
  try {
    const [program = '', ...args] = command;
    const stdio = ['ignore', 'pipe', 'inherit', 'pipe', 'pipe', planted.fd, 'ignore', planted.fd] as const;
    const child = spawn(program, args, { stdio: [...stdio], env: {} });
    const ended = once(child, 'exit');
    (child.stdio[4] as NodeJS.WritableStream).write(asVariables({ PATH: '/usr/bin:/bin' }));
    const said = await text(child.stdout as NodeJS.ReadableStream & AsyncIterable<string>);
    expect(await ended).toEqual([0, null]);
    return said.trim().split(/\s+/).map(Number);
  } finally {
    await planted.close();
  }
}

// By the shell itself: its own descriptors are those that it was started with.
const LIST = [
  '/bin/sh',
  '-c',
  'for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done; true',
];

test.skipIf(!found.isOneStep)('descriptors that are open beside its own do not reach a script', async () => {
  const command = containCommand({ limits: [], hidden: [], mergeOutput: false, command: LIST })!;
  expect(await descriptorsOf(command)).toEqual([0, 1, 2, 3]);
});

test.skipIf(!found.isOneStep)('nor where the kernel cannot close them at once', async () => {
  const command = containCommand({ limits: [], hidden: [], mergeOutput: false, command: LIST })!;
  const older = command.map((part) => part.replace('syscall(436, 5,', 'syscall(99999, 5,'));
  expect(older).not.toEqual(command);
  expect(await descriptorsOf(older)).toEqual([0, 1, 2, 3]);
});
