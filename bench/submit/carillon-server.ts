/**
 * Carillon as `npm start` runs it, on the bench's database, with one function as a handler. Run with DATABASE_URL and
 * DATA_FOLDER; sends its address and key, and when asked what its handler saw.
 */
import { readFileSync } from 'node:fs';
import { silentLog } from '../../packages/foundation/src/index.ts';
import { loadConfig } from '../../packages/server/src/config/load-config.ts';
import { startServer } from '../../packages/server/src/start-server.ts';
import type { RunContext } from '../../packages/worker/src/handler.ts';
import { percentile } from '../percentile.ts';

export type ExecutionFigures = { readonly ran: number; readonly p50Ms: number; readonly p99Ms: number };

const { DATABASE_URL = '', DATA_FOLDER = '' } = process.env;
const flags = ['--database-url', DATABASE_URL, '--data', DATA_FOLDER, '--port', '0'];
// The generator is one caller with one key: what is measured is the server, not its patience with one caller.
const WITHOUT_LIMITS = [
  ...['--rate-limit-key-per-second', '0', '--rate-limit-address-per-second', '0'],
  ...['--connections-address-max', '10000'],
];
const loaded = loadConfig({
  argv: [...flags, ...WITHOUT_LIMITS],
  env: {},
  cwd: DATA_FOLDER,
});
if (loaded.kind !== 'run') throw new Error('the flags of the bench are not understood');

const delaysMs: number[] = [];
const noop = ({ scheduledAt }: RunContext): void => {
  delaysMs.push(Date.now() + 1 - scheduledAt.getTime());
};

const server = await startServer({
  config: loaded.config,
  log: silentLog,
  onReplaced: () => process.exit(1),
  handlers: new Map([['noop', noop]]),
});
process.send?.({ address: server.address, key: readFileSync(server.adminKeyFile, 'utf8').trim() });
process.on('message', (message) => {
  if (message !== 'tell') return;
  const sorted = Int32Array.from(delaysMs).toSorted();
  const figures: ExecutionFigures = {
    ran: sorted.length,
    p50Ms: sorted.length === 0 ? 0 : percentile(sorted, 0.5),
    p99Ms: sorted.length === 0 ? 0 : percentile(sorted, 0.99),
  };
  process.send?.(figures);
});
process.once('disconnect', () => {
  void server.stop().then(() => process.exit(0));
});
