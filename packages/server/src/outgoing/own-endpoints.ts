/**
 * Where this installation listens: the ports of this process, the database, and all other servers, whatever their roles. http
 * jobs may not call them. Each server publishes where it can be reached, by every address of its machine when it listens on all
 * of them. Published and read again every few seconds, since servers come and names change; what was last known counts while the
 * storage does not answer.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { BootId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import { gatewayEndpoint, OPEN_PATHS, type OwnEndpoint } from '@carillon/worker';
import type { MemberStore, PublishedPeer } from '../storage/member-store.ts';

const REFRESH_MS = 10_000;
const POSTGRES_PORT = 5432;
const LASTS_MS = 3 * REFRESH_MS;
// A server that cannot reach the database may go on listening. Later its address may be that of another program.
const REMEMBERED_MS = 10 * 60_000;
const EVERY_V4 = '0.0.0.0';
const EVERY = '::';
const LOOPBACK = '127.0.0.1';
/** Other servers ask at all of them at once. */
const PEER_URLS_MAX = 8;

export interface OwnEndpointsOptions {
  readonly databaseUrl: string;
  readonly publicUrl: string | undefined;
  readonly bootId: BootId;
  readonly members: Pick<MemberStore, 'publishAddresses' | 'withdrawAddresses' | 'publishedAddresses'>;
  /** Published for the other servers, with where this process answers them. Left out: they cannot ask it. */
  readonly peer?: () => Omit<PublishedPeer, 'urls'>;
  /** The addresses of this machine that others can reach; for tests. */
  readonly machineAddresses?: () => readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class OwnEndpoints implements Service {
  readonly #options: OwnEndpointsOptions;
  readonly #loop: Loop;
  /** Of this process. */
  readonly #listeners: OwnEndpoint[] = [];
  #gateway: { readonly url: string; readonly host: string } | undefined;
  #found: readonly OwnEndpoint[] = [];
  #all: readonly OwnEndpoint[] = [];

  constructor(options: OwnEndpointsOptions) {
    this.#options = options;
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

  /** The same for the port at which it answers everything. */
  addGateway(url: string, host: string): void {
    this.addListener(url, host);
    this.#gateway = { url, host };
  }

  list(): readonly OwnEndpoint[] {
    return this.#all;
  }

  /** Knows the database and the other servers before it returns, or fails. */
  async start(): Promise<void> {
    await this.runOnce();
    this.#loop.start();
  }

  /** Others need not wait until what this process published has run out. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    const { members, bootId, log } = this.#options;
    await members.withdrawAddresses(bootId).catch((error: unknown) => {
      log.warn({ err: error }, 'could not withdraw the addresses of this server; they run out by themselves');
    });
  }

  async runOnce(): Promise<undefined> {
    const { databaseUrl, members, bootId, clock } = this.#options;
    const nowMs = clock.now();
    const rememberedMs = nowMs - REMEMBERED_MS;
    const addresses = await this.#reachableAt();
    const published = {
      ...{ bootId, addresses, untilMs: nowMs + LASTS_MS, forgetBeforeMs: rememberedMs },
      peer: this.#asPeer(),
    };
    await members.publishAddresses(published);
    const [database, others] = await Promise.all([
      databaseAt(databaseUrl),
      members.publishedAddresses(rememberedMs),
    ]);
    this.#found = [...database, ...others.flatMap(gatewayAt)];
    this.#merge();
    return undefined;
  }

  /** By its addresses, which lead to no other process: its public name may. */
  #asPeer(): PublishedPeer | undefined {
    const { peer, machineAddresses = addressesOfMachine } = this.#options;
    if (!peer || !this.#gateway) return undefined;
    const { url, host } = this.#gateway;
    const isEvery = host === EVERY_V4 || host === EVERY;
    const hosts = isEvery ? [...machineAddresses().slice(0, PEER_URLS_MAX - 1), LOOPBACK] : [host];
    const urls = hosts.map((name) => `${new URL(url).protocol}//${inUrl(name)}:${portOf(url)}`);
    return { ...peer(), urls };
  }

  /** For other machines, too. */
  async #reachableAt(): Promise<string[]> {
    const { machineAddresses = addressesOfMachine } = this.#options;
    const each = this.#listeners.map(async ({ host, port }) => {
      const isEvery = host === EVERY_V4 || host === EVERY;
      const here = isEvery ? machineAddresses() : isIP(host) === 0 ? await addressesOf(host) : [];
      return [host, ...here].map((name) => `http://${inUrl(name)}:${port}`);
    });
    const { publicUrl } = this.#options;
    return [
      ...new Set([...(publicUrl === undefined ? [] : [publicUrl]), ...(await Promise.all(each)).flat()]),
    ];
  }

  #merge(): void {
    const { publicUrl } = this.#options;
    this.#all = [
      ...(publicUrl === undefined ? [] : gatewayAt(publicUrl)),
      ...this.#listeners,
      ...this.#found,
    ];
  }
}

function gatewayAt(url: string): OwnEndpoint[] {
  return URL.canParse(url) ? [gatewayEndpoint(url)] : [];
}

function inUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

const portOf = (url: string): number => gatewayEndpoint(url).port;

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

/** Not those that only this machine can use: loopback, and those of one link. */
function addressesOfMachine(): string[] {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return interfaces.filter(({ internal, scopeid }) => !internal && !scopeid).map(({ address }) => address);
}

function plainHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
