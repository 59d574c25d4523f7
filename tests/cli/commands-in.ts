/** The command as a test types it, in a folder where it finds its server. */
import { expect } from 'vitest';
import { type CarillonOptions, type Ended, runCarillon } from './run-carillon.ts';
import { needsAProcess, runInProcess } from './run-in-process.ts';

/** folder: known once the server has started. */
export function commandsIn(folder: () => string, { inProcesses = false } = {}) {
  const run = (args: string[], some: Partial<CarillonOptions> = {}): Promise<Ended> => {
    const options = { cwd: folder(), ...some };
    return inProcesses || needsAProcess(args, options)
      ? runCarillon(args, options)
      : runInProcess(args, options);
  };

  /** Expects it to work, and answers what it printed. */
  async function ok(args: string[], options: Partial<CarillonOptions> = {}): Promise<string> {
    const { code, stdout, stderr } = await run(args, options);
    expect(code, `carillon ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  async function json<T>(args: string[], options: Partial<CarillonOptions> = {}): Promise<T> {
    return JSON.parse(await ok([...args, '--json'], options)) as T;
  }

  async function createJob(...args: string[]): Promise<string> {
    return (await json<{ job_id: string }>(['jobs', 'create', ...args])).job_id;
  }

  return { run, ok, json, createJob };
}
