/**
 * For tests: two machines with a cable between them, as network namespaces that the test itself makes. Nothing leaves them: each has its own
 * loopback, and an address on the cable. It takes root on Linux; where that is missing it says why, so that tests can be left out by name.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Machine {
  readonly address: string;
  /** What a program is started with to run there. */
  readonly enter: readonly [string, ...string[]];
}

const NAMES = ['server', 'worker'] as const;
type Name = (typeof NAMES)[number];

export class TwoMachines {
  readonly server: Machine;
  readonly worker: Machine;

  private constructor(prefix: string) {
    this.server = machine(prefix, 'server');
    this.worker = machine(prefix, 'worker');
  }

  static async make(): Promise<TwoMachines> {
    const prefix = `carillon-${process.pid}`;
    const names = NAMES.map((name) => `${prefix}-${name}`);
    // A name of an interface has at most 15 characters.
    const [one = '', two = ''] = ['a', 'b'].map((end) => `cari${process.pid}${end}`);
    const machines = new TwoMachines(prefix);
    try {
      for (const name of names) await run('ip', ['netns', 'add', name]);
      await run('ip', [
        'link',
        'add',
        one,
        'netns',
        names[0]!,
        'type',
        'veth',
        'peer',
        'name',
        two,
        'netns',
        names[1]!,
      ]);
      for (const [i, end] of [one, two].entries()) {
        const inside = (...words: string[]) => run('ip', ['-n', names[i]!, ...words]);
        await inside('address', 'add', `${addressOf(NAMES[i]!)}/24`, 'dev', end);
        for (const device of ['lo', end]) await inside('link', 'set', device, 'up');
      }
    } catch (error) {
      await machines.remove();
      throw error;
    }
    return machines;
  }

  /** The cable goes with its ends. */
  async remove(): Promise<void> {
    for (const { enter } of [this.server, this.worker])
      await run('ip', ['netns', 'delete', enter[3]!]).catch(() => undefined);
  }
}

/** Undefined: they can be made. */
export async function whyNoMachines(): Promise<string | undefined> {
  try {
    await (await TwoMachines.make()).remove();
    return undefined;
  } catch (error) {
    return (
      String((error as Error).message)
        .split('\n')
        .at(-2) ?? 'no network namespaces'
    );
  }
}

function addressOf(name: Name): string {
  return name === 'server' ? '10.77.0.1' : '10.77.0.2';
}

function machine(prefix: string, name: Name): Machine {
  return { address: addressOf(name), enter: ['ip', 'netns', 'exec', `${prefix}-${name}`] };
}
