/**
 * Where this installation listens: the ports of this process, the database, and the servers that are registered as nodes. http
 * jobs may not call them. Read again every few seconds, since servers come and names change; what was last known counts while
 * the storage does not answer.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { OwnEndpoint } from '@carillon/worker';
import type { MemberStore } from '../storage/member-store.ts';

/** What a gateway answers to anybody. */
export const OPEN_PATHS = ['/health/live', '/health/ready'] as const;
const REFRESH_MS = 10_000;
const POSTGRES_PORT = 5432;

export interface OwnEndpointsOptions {
  readonly databaseUrl: string;
  readonly publicUrl: string | undefined;
  readonly members: Pick<MemberStore, 'nodeAddresses'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class OwnEndpoints implements Service {
  readonly #options: OwnEndpointsOptions;
  readonly #loop: Loop;
  /** Of this process. */
  readonly #listeners: OwnEndpoint[] = [];
  #found: readonly OwnEndpoint[] = [];
  #all: readonly OwnEndpoint[] = [];

  constructor(options: OwnEndpointsOptions) {
    this.#options = options;
    const { publicUrl } = options;
    if (publicUrl !== undefined) this.#listeners.push(...gatewayAt(publicUrl));
    this.#loop = new Loop({
      ...options,
      name: 'own endpoints',
      idleMs: REFRESH_MS,
      runOnce: () => this.runOnce(),
    });
    this.#merge();
  }

  /** This process listens at the port of the URL, on this host: 0.0.0.0 and :: are every address of the machine. */
  addListener(url: string, host: string): void {
    this.#listeners.push({ host, port: portOf(url), openPaths: OPEN_PATHS });
    this.#merge();
  }

  list(): readonly OwnEndpoint[] {
    return this.#all;
  }

  /** Knows the database and the nodes before it returns, or fails. */
  async start(): Promise<void> {
    await this.runOnce();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    const { databaseUrl, members } = this.#options;
    const [database, nodes] = await Promise.all([databaseAt(databaseUrl), members.nodeAddresses()]);
    this.#found = [...database, ...nodes.flatMap(gatewayAt)];
    this.#merge();
    return undefined;
  }

  #merge(): void {
    this.#all = [...this.#listeners, ...this.#found];
  }
}

/** By its name alone: a proxy in front of it serves other hosts at the same address. */
function gatewayAt(url: string): OwnEndpoint[] {
  if (!URL.canParse(url)) return [];
  return [{ host: plainHost(new URL(url).hostname), port: portOf(url), openPaths: OPEN_PATHS }];
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/** By its name and by the addresses that the name has now. */
async function databaseAt(url: string): Promise<OwnEndpoint[]> {
  if (!URL.canParse(url)) return [];
  const { hostname, port, searchParams } = new URL(url);
  const host = plainHost(searchParams.get('host') ?? decodeURIComponent(hostname));
  // A socket in a folder, which no http job can reach.
  if (host === '' || host.startsWith('/')) return [];
  const number = Number(searchParams.get('port') ?? port) || POSTGRES_PORT;
  const addresses = isIP(host) === 0 ? await addressesOf(host) : [];
  return [host, ...addresses].map((each) => ({ host: each, port: number }));
}

/** None: the name cannot be looked up now. It stays refused by name. */
async function addressesOf(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}

function plainHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
