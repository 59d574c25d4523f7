/** How many connections may be open: in total, and from one address or IPv6 network, so that nobody takes the places of all. */
import { BlockList, isIPv6 } from 'node:net';
import { addressGroup } from '../../accounts/address-group.ts';

/** Whoever closes connections and opens others at once is here before the closed ones are: their places come free in a moment. */
const WAIT_MS = 1_000;
const WAITING_MAX = 256;

export interface ConnectionLimitSettings {
  readonly total: number;
  readonly perAddress: number;
  /** Addresses and networks that many callers come from: only the total counts for them. */
  readonly trustedProxies?: readonly string[];
}

export class ConnectionLimits {
  readonly #settings: ConnectionLimitSettings;
  readonly #proxies: BlockList;
  readonly #perGroup = new Map<string, number>();
  /** Each tries to take its place, and answers whether it has. */
  readonly #waiting = new Set<() => boolean>();
  #total = 0;

  constructor(settings: ConnectionLimitSettings) {
    this.#settings = settings;
    this.#proxies = networks(settings.trustedProxies ?? []);
  }

  /** Undefined: there is no place. Otherwise how the place is given back. */
  take(address: string): (() => void) | undefined {
    const { total, perAddress } = this.#settings;
    if (this.#total >= total) return undefined;
    const isProxy = this.#proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
    const group = isProxy ? 'proxies' : addressGroup(address);
    const count = this.#perGroup.get(group) ?? 0;
    if (!isProxy && count >= perAddress) return undefined;
    this.#total += 1;
    this.#perGroup.set(group, count + 1);
    return () => {
      this.#total -= 1;
      const left = this.#perGroup.get(group)! - 1;
      if (left > 0) this.#perGroup.set(group, left);
      else this.#perGroup.delete(group);
      for (const attempt of this.#waiting) if (attempt()) return;
    };
  }

  /** Calls back as `take` answers, at once or when a place came free; undefined when none did for a moment. */
  takeOrWait(address: string, settle: (leave: (() => void) | undefined) => void): void {
    const leave = this.take(address);
    if (leave || this.#waiting.size >= WAITING_MAX) {
      settle(leave);
      return;
    }
    const end = (place: (() => void) | undefined) => {
      clearTimeout(late);
      this.#waiting.delete(attempt);
      settle(place);
    };
    const attempt = () => {
      const place = this.take(address);
      if (place) end(place);
      return place !== undefined;
    };
    const late = setTimeout(() => end(undefined), WAIT_MS).unref();
    this.#waiting.add(attempt);
  }
}

function networks(given: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of given) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
