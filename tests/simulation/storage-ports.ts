/** The ports of the storage, each to be wrapped: for journeys that fail, and for defects. */
import type { Storage } from '../../packages/server/src/storage/storage.ts';

export type PortName = keyof Storage;

/** As a record, so that the compiler misses none. */
const PORTS: Readonly<Record<PortName, true>> = {
  jobs: true,
  schedule: true,
  leases: true,
  members: true,
  runs: true,
  insight: true,
  runState: true,
  housekeeping: true,
  audit: true,
  accounts: true,
  ownSettings: true,
  signingKeys: true,
  secrets: true,
  handlers: true,
  events: true,
  generations: true,
  runLogs: true,
  stats: true,
};

export function wrapPorts(
  storage: Storage,
  wrap: <Name extends PortName>(name: Name, port: Storage[Name]) => Storage[Name],
): Storage {
  const names = Object.keys(PORTS) as PortName[];
  return Object.fromEntries(names.map((name) => [name, wrap(name, storage[name])])) as unknown as Storage;
}
