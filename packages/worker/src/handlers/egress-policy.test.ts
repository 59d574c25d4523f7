import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import {
  EgressPolicy,
  type EgressRules,
  gatewayEndpoints,
  type OwnEndpoint,
  parseAllowEntry,
} from './egress-policy.ts';

const OPEN: EgressRules = { profile: 'open', allow: [], denyNetworks: [] };

interface Asked {
  readonly hostname?: string;
  readonly port?: number;
  readonly method?: string;
  readonly path?: string;
}

/** Whether a job may connect there. */
function may(
  address: string,
  rules: Partial<EgressRules> = {},
  to: Asked = {},
  own: readonly OwnEndpoint[] = [],
) {
  const policy = new EgressPolicy({ ...OPEN, ...rules }, () => own);
  const destination = { hostname: address, port: 80, method: 'GET', path: '/', ...to };
  return policy.refusal(address, destination) === undefined;
}

describe('what no job may call, whatever the profile', () => {
  test.each([
    ['AWS, Azure, Google and most others', '169.254.169.254'],
    ['AWS tasks', '169.254.170.2'],
    ['AWS pods', '169.254.170.23'],
    ['AWS over IPv6', 'fd00:ec2::254'],
    ['AWS pods over IPv6', 'fd00:ec2::23'],
    ['Google over IPv6', 'fd20:ce::254'],
    ['Azure, the host', '168.63.129.16'],
    ['Oracle, first generation', '192.0.0.192'],
    ['Oracle over IPv6', 'fd00:c1::a9fe:a9fe'],
    ['Alibaba', '100.100.100.200'],
    ['Alibaba over IPv6', 'fd00:100::100:200'],
    ['Tencent', '169.254.0.23'],
    ['Volcano Engine', '100.96.0.96'],
    ['Scaleway', '169.254.42.42'],
    ['Scaleway over IPv6', 'fd00:42::42'],
    ['Akamai over IPv6', 'fd00:a9fe:a9fe::1'],
    ['OpenStack over IPv6', 'fe80::a9fe:a9fe'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['this network', '0.0.0.0'],
    ['another of this network', '0.1.2.3'],
    ['the unspecified address of IPv6', '::'],
    ['multicast', '224.0.0.1'],
    ['multicast of IPv6', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
  ])('%s: %s', (_, address) => {
    expect(may(address)).toBe(false);
    expect(may(address, { profile: 'internet' })).toBe(false);
    expect(
      may(address, { profile: 'listed', allow: ['metadata.example'] }, { hostname: 'metadata.example' }),
    ).toBe(false);
  });

  test.each([
    ['mapped', '::ffff:169.254.169.254'],
    ['mapped, in hexadecimal', '::ffff:a9fe:a9fe'],
    ['compatible', '::169.254.169.254'],
    ['translated', '::ffff:0:169.254.169.254'],
    ['NAT64', '64:ff9b::a9fe:a9fe'],
    ['NAT64 with a prefix of its own', '64:ff9b:1::a9fe:a9fe'],
    ['NAT64 with the address in the middle', '64:ff9b:1:a9fe:a9:fe00::'],
    ['6to4', '2002:a9fe:a9fe::1'],
    ['Teredo, its server', '2001:0:a9fe:a9fe::1'],
    ['Teredo, its client', '2001:0:c000:201::5601:5601'],
    ['ISATAP', '2001:4860::5efe:a9fe:a9fe'],
  ])('an IPv4 address inside an IPv6 address: %s', (_, address) => {
    expect(may(address)).toBe(false);
  });

  test('metadata services by name, whatever it resolves to', () => {
    for (const hostname of ['metadata.google.internal', 'METADATA.google.internal.', 'metadata.goog'])
      expect(may('8.8.8.8', {}, { hostname })).toBe(false);
  });

  test('is opened by its address in the allow list alone, for the port that it names', () => {
    const allow = ['169.254.170.2', '100.100.100.200:8080'];
    expect(may('169.254.170.2', { allow })).toBe(true);
    expect(may('169.254.169.254', { allow })).toBe(false);
    expect(may('100.100.100.200', { allow })).toBe(false);
    expect(may('100.100.100.200', { allow }, { port: 8080 })).toBe(true);
  });
});

describe('the profile', () => {
  const PUBLIC = ['8.8.8.8', '2606:4700:4700::1111', '64:ff9b::808:808', '::ffff:8.8.8.8'];
  const PRIVATE = [
    ...['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '100.64.0.1', '192.0.2.1', '198.18.0.1'],
    ...['198.51.100.1', '203.0.113.9', '::1', 'fc00::1', 'fd12::1', 'fec0::1', '2001:db8::1', '3fff::1'],
    ...['64:ff9b::a00:1', '2002:808:808::1', '2001:10::1', '::ffff:10.0.0.1', '::10.0.0.1', '5f00::1'],
  ];

  test.each([...PUBLIC, ...PRIVATE])('open lets jobs call %s', (address) => {
    expect(may(address)).toBe(true);
  });

  test.each(PUBLIC)('internet lets jobs call %s', (address) => {
    expect(may(address, { profile: 'internet' })).toBe(true);
  });

  test.each(PRIVATE)('internet keeps jobs from %s', (address) => {
    expect(may(address, { profile: 'internet' })).toBe(false);
  });

  test('internet lets through what the allow list names: a network, or a name with a private address', () => {
    const rules = { profile: 'internet', allow: ['10.0.0.0/8:8080', 'hooks.corp.example', '*.svc'] } as const;
    expect(may('10.0.0.1', rules, { port: 8080 })).toBe(true);
    expect(may('10.0.0.1', rules, { port: 8081 })).toBe(false);
    expect(may('192.168.0.1', rules, { hostname: 'hooks.corp.example' })).toBe(true);
    expect(may('192.168.0.1', rules, { hostname: 'Hooks.Corp.Example.' })).toBe(true);
    expect(may('192.168.0.1', rules, { hostname: 'web.svc' })).toBe(true);
    expect(may('192.168.0.1', rules, { hostname: 'svc' })).toBe(false);
    expect(may('192.168.0.1', rules, { hostname: 'xhooks.corp.example' })).toBe(false);
  });

  test('listed lets through the allow list alone', () => {
    const rules = { profile: 'listed', allow: ['api.example.com:443', '2606:4700::/32'] } as const;
    expect(may('8.8.8.8', rules)).toBe(false);
    expect(may('8.8.8.8', rules, { hostname: 'api.example.com', port: 443 })).toBe(true);
    expect(may('8.8.8.8', rules, { hostname: 'api.example.com', port: 80 })).toBe(false);
    expect(may('2606:4700:4700::1111', rules)).toBe(true);
  });

  test('a denied network wins over the allow list, also inside IPv6', () => {
    const rules = { denyNetworks: ['10.0.0.0/9'], allow: ['10.0.0.0/8', 'a.example'] };
    expect(may('10.1.0.0', rules)).toBe(false);
    expect(may('10.200.0.0', rules)).toBe(true);
    expect(may('64:ff9b::a01:0', rules)).toBe(false);
    expect(may('10.1.0.0', rules, { hostname: 'a.example' })).toBe(false);
  });
});

describe("Carillon's own endpoints", () => {
  const gateway = (host: string): OwnEndpoint[] => [{ host, port: 7420, openPaths: ['/health/live'] }];
  const at = { port: 7420, path: '/api/jobs' };

  test.each([
    ...[
      '127.0.0.1',
      '127.8.8.8',
      '::1',
      '::ffff:127.0.0.1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
    ],
  ])('that listen on loopback are not called as %s', (address) => {
    expect(may(address, {}, at, gateway('127.0.0.1'))).toBe(false);
    expect(may(address, {}, { ...at, port: 7421 }, gateway('127.0.0.1'))).toBe(true);
  });

  test('that listen everywhere are not called by any address of this machine', () => {
    const addresses = Object.values(networkInterfaces()).flatMap(
      (list) => list?.map(({ address }) => address) ?? [],
    );
    expect(addresses.length).toBeGreaterThan(0);
    for (const host of ['0.0.0.0', '::'])
      for (const address of addresses) expect(may(address, {}, at, gateway(host))).toBe(false);
  });

  test('answer a job what they answer a stranger', () => {
    const own = gateway('0.0.0.0');
    expect(may('127.0.0.1', {}, { ...at, path: '/health/live' }, own)).toBe(true);
    expect(may('127.0.0.1', {}, { ...at, path: '/health/live', method: 'POST' }, own)).toBe(false);
    expect(may('127.0.0.1', {}, { ...at, path: '/metrics' }, own)).toBe(false);
  });

  test('on other machines are not called by their address or name', () => {
    expect(may('10.0.0.7', {}, at, gateway('10.0.0.7'))).toBe(false);
    expect(may('10.0.0.8', {}, at, gateway('10.0.0.7'))).toBe(true);
    expect(may('10.0.0.8', {}, { ...at, hostname: 'Carillon.example.' }, gateway('carillon.example'))).toBe(
      false,
    );
  });

  test('at a URL are not called by the addresses of their name either', async () => {
    const named = (url: string, address: string) => gatewayEndpoints(url, async () => [{ address }]);
    const local = await named('http://localhost:7420', '127.0.0.1');
    expect(may('127.0.0.1', {}, { ...at, hostname: '127.0.0.1' }, local)).toBe(false);
    expect(may('127.0.0.1', {}, { ...at, hostname: 'other.example' }, local)).toBe(false);
    for (const { address } of Object.values(networkInterfaces()).flatMap((list) => list ?? []))
      expect(may(address, {}, at, local)).toBe(false);
    expect(may('10.0.0.7', {}, at, await named('http://carillon.example:7420', '10.0.0.7'))).toBe(false);
    // Behind a proxy there may be others.
    const proxied = await named('https://carillon.example', '10.0.0.7');
    const by = (hostname: string) => may('10.0.0.7', {}, { ...at, port: 443, hostname }, proxied);
    expect([by('carillon.example'), by('10.0.0.7'), by('other.example')]).toEqual([false, false, true]);
    const unknown = await gatewayEndpoints('http://carillon.example', () => Promise.reject(new Error('no')));
    expect(unknown).toEqual([expect.objectContaining({ host: 'carillon.example', port: 80 })]);
  });

  test('are opened by an address with a port in the allow list, and not by a name', () => {
    const own = gateway('127.0.0.1');
    expect(may('127.0.0.1', { allow: ['127.0.0.1:7420'] }, at, own)).toBe(true);
    expect(may('127.0.0.1', { allow: ['localhost:7420'] }, { ...at, hostname: 'localhost' }, own)).toBe(
      false,
    );
  });
});

describe('an entry of the allow list', () => {
  test.each([
    ...[
      'example.com',
      '*.example.com',
      'example.com:443',
      '10.0.0.0/8',
      '10.0.0.0/8:80',
      '10.0.0.1',
      'fd00::/8',
    ],
    ...['[fd00::1]', '[fd00::/8]:8080', 'my_host', '::1'],
  ])('may be %s', (text) => {
    expect(parseAllowEntry(text)).toBeDefined();
  });

  test.each([
    ...['', 'http://example.com', 'example.com/path', 'a b', '10.0.0', '10.0.0.0/33', 'example.com:0'],
    ...['example.com:99999', '[example.com]', '*', '*.', 'ex*mple.com', '[fd00::1', '256.1.1.1'],
  ])('may not be %j', (text) => {
    expect(parseAllowEntry(text)).toBeUndefined();
  });
});
