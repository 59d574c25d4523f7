/**
 * Networks that are not like others: where clouds keep the credentials of their machines, and ranges that the registries of IANA
 * reserve. docs/egress.md shows the first list.
 */

/** No job has business there, whatever the profile says. */
export const NEVER_CALLED = [
  // "This network": a connection to 0.0.0.0 or :: reaches this machine.
  '0.0.0.0/8',
  '::',
  // Link-local. Metadata of AWS, Azure, Google Cloud, Oracle, IBM, DigitalOcean, Hetzner, OpenStack, Tencent, Scaleway and others.
  '169.254.0.0/16',
  'fe80::/10',
  // Multicast, reserved, broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  'ff00::/8',
  // Alibaba Cloud.
  '100.100.100.200',
  'fd00:100::100:200',
  // Volcano Engine.
  '100.96.0.96',
  // UCloud.
  '100.80.80.80',
  // Azure: the host behind every virtual machine.
  '168.63.129.16',
  // Oracle Cloud, first generation.
  '192.0.0.192',
  // Equinix Metal.
  '192.80.8.124',
  // AWS: metadata, credentials of pods, names, time.
  'fd00:ec2::/32',
  // Google Cloud, Oracle, Scaleway, Akamai.
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'fd00:a9fe:a9fe::1',
] as const;

/** Names under which machines of clouds find their metadata. */
export const METADATA_HOSTS: ReadonlySet<string> = new Set([
  'api.metadata.cloud.ibm.com',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.exoscale.com',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'metadata.tencentyun.com',
]);

/** Addresses that the internet does not route, and 6to4 relays. */
export const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Protocol assignments with Teredo and ORCHID, documentation, 6to4.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
] as const;

/** Of IPv6, what is public at all; NAT64 is as public as the IPv4 address inside. */
export const PUBLIC_V6 = ['2000::/3', '64:ff9b::/96'] as const;
