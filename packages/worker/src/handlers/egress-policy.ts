/**
 * Where http jobs may connect to. Checked for the address that a name resolved to, and again for the address that the connection
 * has: what a name means may change between two answers (hazard 36).
 *
 * In this order: networks that the operator denies; what the allow list opens by address; Carillon's own endpoints and the
 * networks that no job has business in; what the allow list opens by name; then the profile decides.
 */
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { contains, formsOf, type IpBytes, type IpNetwork, parseAddress, parseNetwork } from './ip-network.ts';
import { METADATA_HOSTS, NEVER_CALLED, NOT_PUBLIC, PUBLIC_V6 } from './special-networks.ts';

/** open: all but what is refused. internet: public addresses only. listed: what the allow list names. */
export const EGRESS_PROFILES = ['open', 'internet', 'listed'] as const;

export interface EgressRules {
  readonly profile: (typeof EGRESS_PROFILES)[number];
  /** Hosts, names with a wildcard, addresses or networks, each with or without a port. */
  readonly allow: readonly string[];
  /** Besides the networks that are refused anyway. */
  readonly denyNetworks: readonly string[];
}

/** Where Carillon itself, or its database, listens. An address of all interfaces, or of loopback, means this machine. */
export interface OwnEndpoint {
  readonly host: string;
  readonly port: number;
  /** A gateway answers these paths to anybody; a job may ask for them too. */
  readonly openPaths?: readonly string[];
  /** A proxy may serve other hosts at this address: it is refused only where it is written in the URL, and not where a name leads to it. */
  readonly mayBeShared?: boolean;
}

/** What a gateway answers to anybody. */
export const OPEN_PATHS = ['/health/live', '/health/ready'] as const;

/** The gateway at this URL, by its name alone: a proxy in front of it serves other hosts at the same address. */
export function gatewayEndpoint(url: string): OwnEndpoint {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80), openPaths: OPEN_PATHS };
}

/**
 * The gateway at this URL by its name and by every address that the name has. At the ports of proxies an address may be shared with
 * other hosts, unless it is of this machine.
 */
export async function gatewayEndpoints(
  url: string,
  resolve: (host: string) => Promise<readonly { address: string }[]> = (host) => lookup(host, { all: true }),
): Promise<OwnEndpoint[]> {
  const gateway = gatewayEndpoint(url);
  const found = parseAddress(gateway.host)
    ? [{ address: gateway.host }]
    : await resolve(gateway.host).catch(() => []);
  const addresses = found.map(({ address }): OwnEndpoint => {
    // It may listen at every address of the machine.
    if (isHere(address)) return { ...gateway, host: EVERY_ADDRESS };
    return { ...gateway, host: address, mayBeShared: PROXY_PORTS.has(gateway.port) };
  });
  return [gateway, ...addresses];
}

const EVERY_ADDRESS = '0.0.0.0';
const PROXY_PORTS: ReadonlySet<number> = new Set([80, 443]);

function isHere(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && (isIn(LOOPBACK, parsed) || isOfThisMachine(parsed));
}

export interface Destination {
  /** As in the URL, without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
}

interface AllowEntry {
  readonly port: number | undefined;
  readonly network?: IpNetwork;
  /** In lower case; with `suffix`, names below it. */
  readonly name?: string;
  readonly suffix?: boolean;
}

/** Undefined: not an entry of an allow list. */
export function parseAllowEntry(text: string): AllowEntry | undefined {
  const written = parseNetwork(text);
  if (written) return { port: undefined, network: written };
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const network = parseNetwork(bracketed ?? plain ?? '');
  if (network) return { port, network };
  const suffix = plain?.startsWith('*.') ?? false;
  const name = normalName(plain?.slice(suffix ? 2 : 0) ?? '');
  // A name whose last part is a number is a misspelled address.
  const isName = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(name) && !/(^|\.)\d+$/.test(name);
  return isName ? { port, name, suffix } : undefined;
}

const NEVER = NEVER_CALLED.map(network);
const PRIVATE = NOT_PUBLIC.map(network);
const GLOBAL_V6 = PUBLIC_V6.map(network);
const UNSPECIFIED = ['0.0.0.0', '::'].map(network);
/** What reaches a port of this machine, without a network between. */
const LOOPBACK = [network('127.0.0.0/8'), network('::1'), ...UNSPECIFIED];

export class EgressPolicy {
  readonly #profile: EgressRules['profile'];
  readonly #denied: readonly IpNetwork[];
  readonly #allowed: readonly AllowEntry[];
  readonly #own: () => readonly OwnEndpoint[];

  constructor(rules: EgressRules, own: () => readonly OwnEndpoint[] = () => []) {
    this.#profile = rules.profile;
    this.#denied = rules.denyNetworks.map(network);
    this.#allowed = rules.allow.map((text) => {
      const entry = parseAllowEntry(text);
      if (!entry) throw new Error(`"${text}" is no host, address or network`);
      return entry;
    });
    this.#own = own;
  }

  /** Why no job may connect to this address of the destination; undefined: it may. */
  refusal(address: string, to: Destination): string | undefined {
    const parsed = parseAddress(address);
    if (!parsed) return 'it is no address';
    const forms = formsOf(parsed);
    const touches = (networks: readonly IpNetwork[]) => forms.some((form) => isIn(networks, form));
    if (touches(this.#denied)) return 'it lies in a network of http.deny_networks';
    const name = normalName(to.hostname);
    const opened = this.#allowed.filter(({ port }) => port === undefined || port === to.port);
    // By address: each form of it, so that an entry of IPv6 does not open the IPv4 address inside.
    const isOpened = (form: IpBytes) =>
      opened.some((entry) => entry.network && contains(entry.network, form));
    if (forms.every(isOpened)) return undefined;
    const own = this.#own().find((endpoint) => isEndpoint(endpoint, { forms, name, port: to.port }));
    if (own && !isOpenTo(own, to)) return OWN_REFUSAL;
    if (touches(NEVER) || METADATA_HOSTS.has(name)) {
      return 'no job may call metadata services of clouds, nor link-local, multicast or unspecified addresses';
    }
    if (opened.some((entry) => matchesName(entry, name))) return undefined;
    if (this.#profile === 'listed') return 'http.egress is "listed" and http.allow does not name it';
    if (this.#profile === 'internet' && !forms.every(isPublic)) {
      return 'http.egress is "internet" and it is no public address';
    }
    return undefined;
  }
}

const OWN_REFUSAL = 'it is an address of Carillon itself or of its database';

function isOpenTo({ openPaths = [] }: OwnEndpoint, { method, path }: Destination): boolean {
  return (method === 'GET' || method === 'HEAD') && openPaths.includes(path);
}

function isEndpoint(
  endpoint: OwnEndpoint,
  to: { forms: readonly IpBytes[]; name: string; port: number },
): boolean {
  if (endpoint.port !== to.port) return false;
  const address = parseAddress(endpoint.host);
  if (!address) return normalName(endpoint.host) === to.name;
  if (endpoint.mayBeShared && !parseAddress(to.name)) return false;
  const isReachedHere = (form: IpBytes) =>
    (isIn(LOOPBACK, address) && isIn(LOOPBACK, form)) ||
    (isIn(UNSPECIFIED, address) && isOfThisMachine(form));
  return to.forms.some((form) => sameAddress(form, address) || isReachedHere(form));
}

function isIn(networks: readonly IpNetwork[], address: IpBytes): boolean {
  return networks.some((entry) => contains(entry, address));
}

function isOfThisMachine(address: IpBytes): boolean {
  return Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some((entry) => sameAddress(parseAddress(entry.address), address)),
  );
}

function isPublic(address: IpBytes): boolean {
  return !isIn(PRIVATE, address) && (address.length === 4 || isIn(GLOBAL_V6, address));
}

function sameAddress(a: IpBytes | undefined, b: IpBytes): boolean {
  return a?.length === b.length && a.every((byte, at) => byte === b[at]);
}

function matchesName({ name, suffix }: AllowEntry, asked: string): boolean {
  if (name === undefined) return false;
  return suffix ? asked.endsWith(`.${name}`) : asked === name;
}

/** A dot at the end names the same host. */
function normalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function network(text: string): IpNetwork {
  const parsed = parseNetwork(text);
  if (!parsed) throw new Error(`"${text}" is no address or network`);
  return parsed;
}
