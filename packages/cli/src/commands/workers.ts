/** `workers`: who runs jobs, and taking work away from one of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CarillonError, type Worker } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { EXIT } from '../errors.ts';
import { labelFilter, text, toggle } from '../flags.ts';
import type { Output } from '../output/output.ts';
import { WaitingLine } from '../output/progress.ts';
import type { Column } from '../output/table.ts';
import { shortIds } from '../resolve.ts';
import { eachIdCommand, listCommand } from './actions.ts';

const WORKER = {
  name: '<worker>',
  description: 'Id of the worker, or its beginning',
  names: 'worker',
} as const;
const PAUSE_MS = 500;

const list: CommandSpec = {
  ...listCommand('workers list', 'List who runs jobs', {
    details:
      '`carillon workers` does the same. On a terminal ids are shown by their beginnings, which do wherever the id of a worker is taken; workers that were lost are listed for an hour, with how many runs they held; -o wide shows all of them, and what a narrow terminal leaves out.',
    examples: ['carillon workers', 'carillon workers list -o wide', 'carillon workers list --label gpu=a100'],
    options: {
      label: labelFilter('--label <name=value>', 'With this label; may be repeated'),
      handler: text('--handler <name>', 'That offer this handler'),
    },
    all: true,
    read: (client, { label, handler }) => client.workers.list({ label, handler }),
    columns: workerColumns,
    empty: 'No workers.',
    noMatch: 'No worker matches the filters.',
  }),
  isDefault: true,
};

/** Ids of workers are longer than half a terminal: whole, they would leave no room for what matters. */
function workerColumns(out: Output, workers: readonly Worker[]): Column<Worker>[] {
  const short = shortIds(workers.map(({ worker_id: id }) => id));
  const idOf = ({ worker_id: id }: Worker) => (out.width === undefined ? id : short(id));
  return [
    { header: 'ID', value: idOf, fixed: true, rank: 1 },
    { header: 'NAME', value: (worker) => worker.name ?? '-', rank: 3 },
    {
      ...{ header: 'ALIVE', value: stateOf, fixed: true, rank: 2 },
      paint: (word, { alive, draining }) => {
        if (!alive) return out.paint.red(word);
        return draining ? out.paint.yellow(word) : out.paint.green(word);
      },
    },
    { header: 'RUNNING', value: runningOf, right: true, rank: 4 },
    { header: 'STUCK', value: (worker) => worker.stuck, right: true, rank: 6 },
    { header: 'SLOTS', value: (worker) => worker.slots, right: true, rank: 7 },
    { header: 'HANDLERS', value: (worker) => worker.handlers.join(', '), rank: 5 },
    { header: 'LANGUAGE', value: (worker) => worker.language ?? '-' },
    { header: 'VERSION', value: (worker) => worker.version ?? '-' },
    { header: 'LABELS', value: labelsOf },
    { header: 'SERVER', value: serverOf },
    { header: 'LAST SEEN', value: (worker) => out.shortTime(worker.last_seen_at), fixed: true, rank: 8 },
  ];
}

const drain = command('workers drain', 'Let a worker take no more runs', {
  details:
    'It ends the runs that it has and then idles, until it is undrained or ends itself. With --wait the command ends when no run ' +
    'is left; it fails when the worker dies meanwhile.',
  arguments: [WORKER],
  options: { wait: toggle('-w, --wait', 'Until it has no run any more') },
  examples: ['carillon workers drain 01893f2e-7c11', 'carillon workers drain 01893f2e-7c11 --wait'],
  async run({ args: [id = ''], options: { wait }, cli }) {
    const worker = await (await cli.client()).workers.drain(id);
    cli.out.entry(worker, `${id} takes no more runs; ${heldText(worker)}`);
    return wait && !isEmpty(worker) ? watchEmptying(cli, worker) : EXIT.ok;
  },
});

const undrain = eachIdCommand('workers undrain', 'Let drained workers take runs again', {
  arguments: [{ ...WORKER, name: '<worker...>', description: 'Ids of workers, or their beginnings' }],
  examples: ['carillon workers undrain 01893f2e-7c11'],
  act: (client, id) => client.workers.undrain(id),
  sentence: (id) => `${id} takes runs again`,
});

export const workerCommands: readonly CommandSpec[] = [list, drain, undrain];

async function watchEmptying(cli: Cli, drained: Worker): Promise<number> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const waiting = new WaitingLine(cli.out.terminal);
  const { worker_id: id } = drained;
  try {
    waiting.start('draining');
    for (let before = drained; !signal.aborted; ) {
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const now = await client.workers.get(id).catch(goneAsUndefined);
      // It signs off when it ends in good order, which it does without runs.
      if (!now) return EXIT.ok;
      if (heldText(now) !== heldText(before)) {
        waiting.end();
        cli.out.entry(now, `${id}: ${heldText(now)}`);
        waiting.start('draining');
      }
      // A lost one holds nothing any more, either.
      if (!now.alive) return EXIT.failed;
      if (isEmpty(now)) return EXIT.ok;
      if (!now.draining) return EXIT.failed;
      before = now;
    }
  } finally {
    waiting.end();
  }
  cli.out.note(`Watching ended; the worker goes on draining: carillon workers drain ${id} --wait`);
  return EXIT.interrupted;
}

function goneAsUndefined(error: unknown): undefined {
  if (!(error instanceof CarillonError) || error.status !== 404) throw error;
}

function isEmpty({ running, stuck }: Worker): boolean {
  return running === 0 && stuck === 0;
}

function heldText({ alive, draining, running, stuck }: Worker): string {
  if (!alive) return 'it was given up for dead, and its runs are run again';
  if (!draining) return 'it takes runs again';
  if (running === 0 && stuck === 0) return 'no run is left';
  const handlers =
    stuck > 0 ? `, and ${stuck} ${stuck === 1 ? 'handler has' : 'handlers have'} not stopped` : '';
  return `${running} ${running === 1 ? 'run is' : 'runs are'} left${handlers}`;
}

function stateOf({ alive, draining }: Worker): string {
  if (!alive) return 'lost';
  return draining ? 'draining' : 'yes';
}

/** Of a lost one: what it held. */
function runningOf({ alive, running, lost_runs: lost }: Worker): string {
  return alive ? String(running) : `held ${lost}`;
}

function labelsOf({ labels }: Worker): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function serverOf({ node_id: node, remote }: Worker): string {
  return remote ? node : 'in it';
}
