/**
 * Addresses and networks as bytes, so that one address compares as one however it is written. An IPv6 address can carry an IPv4
 * address that the packets reach in the end (mapped, NAT64, 6to4, Teredo): `formsOf` answers all of them, and a rule must hold for
 * each.
 */
import { isIP, isIPv4 } from 'node:net';

/** 4 bytes or 16. */
export type IpBytes = Uint8Array;

export interface IpNetwork {
  readonly bytes: IpBytes;
  readonly bits: number;
}

/** Of an address without brackets; a zone (`%eth0`) is left out. An IPv4-mapped address is the IPv4 address. */
export function parseAddress(text: string): IpBytes | undefined {
  const address = text.split('%', 1)[0]!;
  const version = isIP(address);
  if (version === 0) return undefined;
  return version === 4 ? bytesOfV4(address) : unmapped(bytesOfV6(address));
}

/** An address, or a network such as 10.0.0.0/8. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return undefined;
  const written = isIPv4(address) ? bytesOfV4(address) : bytesOfV6(address);
  const bits = prefix === undefined ? written.length * 8 : Number(prefix);
  if (bits > written.length * 8) return undefined;
  const bytes = bits >= 96 ? unmapped(written) : written;
  return { bytes, bits: bits - (written.length - bytes.length) * 8 };
}

export function contains(network: IpNetwork, address: IpBytes): boolean {
  if (network.bytes.length !== address.length) return false;
  const wholeBytes = network.bits >> 3;
  for (let at = 0; at < wholeBytes; at++) if (network.bytes[at] !== address[at]) return false;
  const rest = network.bits & 7;
  if (rest === 0) return true;
  return (network.bytes[wholeBytes]! ^ address[wholeBytes]!) >> (8 - rest) === 0;
}

/** The address, and every IPv4 address that it carries. */
export function formsOf(address: IpBytes): readonly IpBytes[] {
  return address.length === 4 ? [address] : [address, ...carriedBy(address)];
}

function carriedBy(address: IpBytes): IpBytes[] {
  const begins = (...start: number[]) => start.every((byte, at) => address[at] === byte);
  const last = address.subarray(12);
  // NAT64, by its well-known prefix.
  if (begins(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) return [last];
  // NAT64 with a prefix of the network's own (RFC 8215): at its end, or around the byte that RFC 6052 leaves out.
  if (begins(0, 0x64, 0xff, 0x9b, 0, 1)) {
    return [last, Uint8Array.of(address[6]!, address[7]!, address[9]!, address[10]!)];
  }
  // IPv4-compatible, and translated (RFC 2765). Neither :: nor ::1 carries an address.
  const zeros = (count: number) => address.subarray(0, count).every((byte) => byte === 0);
  if (zeros(12)) return zeros(15) && address[15]! <= 1 ? [] : [last];
  if (zeros(8) && begins(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0)) return [last];
  // 6to4.
  if (begins(0x20, 0x02)) return [address.subarray(2, 6)];
  // Teredo: the server, and the client in inverted bits.
  if (begins(0x20, 0x01, 0, 0)) return [address.subarray(4, 8), last.map((byte) => byte ^ 0xff)];
  // ISATAP, in any network.
  const isatap =
    (address[8]! & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe;
  return isatap ? [last] : [];
}

function bytesOfV4(text: string): IpBytes {
  return Uint8Array.from(text.split('.'), Number);
}

function bytesOfV6(text: string): IpBytes {
  const dotted = /^(.*:)([\d.]+)$/.exec(text.includes('.') ? text : '');
  const tail = dotted ? bytesOfV4(dotted[2]!) : new Uint8Array(0);
  // A colon before the dotted part is a separator, unless it belongs to "::".
  const groups = dotted ? dotted[1]!.replace(/([^:]):$/, '$1') : text;
  const [before = '', after] = groups.split('::');
  const bytes = new Uint8Array(16);
  const head = bytesOfGroups(before);
  const rest = bytesOfGroups(after ?? '');
  bytes.set(head);
  bytes.set(rest, 16 - tail.length - rest.length);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

function bytesOfGroups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** ::ffff:a.b.c.d as a.b.c.d. */
function unmapped(bytes: IpBytes): IpBytes {
  const isMapped =
    bytes.length === 16 &&
    bytes[10] === 0xff &&
    bytes[11] === 0xff &&
    bytes.subarray(0, 10).every((b) => b === 0);
  return isMapped ? bytes.slice(12) : bytes;
}
