/** The command line of the bench: what to run, how much of it, how often. */
import { parseArgs } from 'node:util';
import { ENGINE_DEFAULTS } from '../packages/server/src/compose.ts';
import { type TenantKind, tenantKinds } from './fairness/tenants.ts';
import { type SystemEntry, systemNamed, systems } from './systems.ts';
import { drain } from './workloads/drain.ts';
import { type CarillonSettings, type CarillonWorkload, carillonWorkloads } from './workloads.ts';

export type BenchOptions = {
  /** Whether the drain is played, by all systems. */
  readonly withPeers: boolean;
  readonly carillonWorkloads: readonly CarillonWorkload[];
  readonly systems: readonly SystemEntry[];
  readonly settings: CarillonSettings;
  /** Where results are written; undefined: nowhere. */
  readonly results: string | undefined;
};

const listed = ({ name, summary }: { name: string; summary: string }) => `  ${name.padEnd(16)}  ${summary}`;

export const help = `Measures Carillon and its peers on this machine: real servers, correctness before speed.

  npm run bench -- [workload ...] [options]

Workloads that all systems play (these, unless others are named)
${listed(drain)}

Workloads of Carillon alone
${carillonWorkloads.map(listed).join('\n')}
  all               every workload there is

Options
  --jobs N          drain, results, remote, fairness: jobs per drain (default 100000); a fifth of it warms up first
  --rounds N        interleaved rounds (default 3) of what is compared; the report gives the median
  --only a,b        drain: only these systems, of: ${systems.map(({ name }) => name).join(', ')}
  --slots N         latency, latency-http, remote, scale: runs at the same time (default ${ENGINE_DEFAULTS.slots}, the server's own)
  --tenants KIND    fairness: what tenants are, of: ${tenantKinds.join(', ')} (default users)
  --waiting N       fairness: runs of one tenant that wait while another submits (default 1000000)
  --scale N         scale: jobs of the large store (default 10000000); page: at most 1000000 of them
  --history N       scale, page: rows of history in the large store (default as many as jobs)
  --quick           small sizes, to see whether the bench works; writes no results unless told where
  --results FOLDER  where to write results (default bench/results)
  --help            this text

Writes <workload>.json for each and README.md for all.`;

/** Null when help was asked for. Throws with a sentence for the user when the words make no sense. */
export function readOptions(words: readonly string[], resultsFolder: string): BenchOptions | null {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      jobs: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      slots: { type: 'string', default: String(ENGINE_DEFAULTS.slots) },
      tenants: { type: 'string', default: 'users' },
      waiting: { type: 'string' },
      scale: { type: 'string' },
      history: { type: 'string' },
      quick: { type: 'boolean', default: false },
      results: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const { quick } = values;
  const scale = wholeNumber('--scale', values.scale ?? (quick ? '100000' : '10000000'), 1);
  return {
    ...chooseWorkloads(positionals),
    systems: values.only ? values.only.split(',').map((name) => systemNamed(name.trim())) : systems,
    settings: {
      quick,
      jobs: wholeNumber('--jobs', values.jobs ?? (quick ? '5000' : '100000'), 1),
      rounds: wholeNumber('--rounds', values.rounds, 1),
      slots: wholeNumber('--slots', values.slots, 1),
      tenants: tenantKindNamed(values.tenants),
      waiting: wholeNumber('--waiting', values.waiting ?? (quick ? '2000' : '1000000'), 1),
      scale,
      history: values.history === undefined ? scale : wholeNumber('--history', values.history, 0),
    },
    results: values.results ?? (quick ? undefined : resultsFolder),
  };
}

function chooseWorkloads(names: readonly string[]): Pick<BenchOptions, 'withPeers' | 'carillonWorkloads'> {
  if (names.length === 0) return { withPeers: true, carillonWorkloads: [] };
  if (names.includes('all')) return { withPeers: true, carillonWorkloads };
  const known = [drain, ...carillonWorkloads].map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`no workload is called ${unknown}; there are: ${known.join(', ')}, all`);
  return {
    withPeers: names.includes(drain.name),
    carillonWorkloads: carillonWorkloads.filter(({ name }) => names.includes(name)),
  };
}

function tenantKindNamed(name: string): TenantKind {
  const kind = tenantKinds.find((candidate) => candidate === name);
  if (!kind) throw new Error(`--tenants wants one of: ${tenantKinds.join(', ')}, not ${name}`);
  return kind;
}

function wholeNumber(option: string, text: string, min: number): number {
  const value = Number(text.replaceAll('_', ''));
  if (!Number.isSafeInteger(value) || value < min)
    throw new Error(`${option} wants a whole number of at least ${min}, not ${text}`);
  return value;
}
