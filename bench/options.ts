/** The command line of the bench: what to run, how much of it, how often. */
import { parseArgs } from 'node:util';
import { type SystemEntry, systemNamed, systems } from './systems.ts';
import { type Workload, workloadNamed, workloads } from './workloads.ts';

export type BenchOptions = {
  readonly workloads: readonly Workload[];
  readonly systems: readonly SystemEntry[];
  readonly jobs: number;
  readonly rounds: number;
};

export const help = `Measures Carillon and its peers on this machine: the same workload, real servers, correctness before speed.

  npm run bench -- [workload ...] [--jobs 100000] [--rounds 3] [--only name,name]

Workloads (all, unless named)
${workloads.map(({ name, summary }) => `  ${name.padEnd(16)}  ${summary}`).join('\n')}

Options
  --jobs N          jobs per system and round (default 100000); a fifth of it warms up first
  --rounds N        rounds, interleaved over the systems (default 3); the report gives median and range
  --only a,b        only these systems, of: ${systems.map(({ name }) => name).join(', ')}
  --help            this text

Writes bench/results/<workload>.json and bench/results/README.md.`;

/** Null when help was asked for. Throws with a sentence for the user when the words make no sense. */
export function readOptions(words: readonly string[]): BenchOptions | null {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      jobs: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  return {
    workloads: positionals.length > 0 ? positionals.map(workloadNamed) : workloads,
    systems: values.only ? values.only.split(',').map((name) => systemNamed(name.trim())) : systems,
    jobs: positiveInteger('--jobs', values.jobs),
    rounds: positiveInteger('--rounds', values.rounds),
  };
}

function positiveInteger(option: string, text: string): number {
  const value = Number(text.replaceAll('_', ''));
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${option} wants a whole number above 0, not ${text}`);
  return value;
}
