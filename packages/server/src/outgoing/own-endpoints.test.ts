import type { BootId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../storage/conformance/sample-job.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { OwnEndpoints, type OwnEndpointsOptions } from './own-endpoints.ts';

let clock: ManualClock;
let storage: MemoryStorage;

beforeEach(() => {
  clock = new ManualClock(1_800_000_000_000);
  storage = new MemoryStorage({ clock });
});

/** A server of whatever role; the machine has these addresses. */
function server(addresses: readonly string[] = [], over: Partial<OwnEndpointsOptions> = {}): OwnEndpoints {
  return new OwnEndpoints({
    ...{ databaseUrl: 'postgres://10.0.0.9/x', publicUrl: undefined, bootId: newId<BootId>() },
    ...{ members: storage.members, clock, random: new SeededRandom(1), log: silentLog },
    ...{ machineAddresses: () => addresses, ...over },
  });
}

const hostsOf = (own: OwnEndpoints) => own.list().map(({ host, port }) => `${host} ${port}`);

test('a server on all addresses is known elsewhere by each address of its machine, and by its public name', async () => {
  const gateway = server(['10.0.0.1', 'fd00::1'], { publicUrl: 'https://carillon.example' });
  gateway.addListener('http://127.0.0.1:7420', '0.0.0.0');
  await gateway.runOnce();
  const other = server();
  await other.runOnce();
  for (const host of ['10.0.0.1 7420', 'fd00::1 7420', '0.0.0.0 7420', 'carillon.example 443'])
    expect(hostsOf(other)).toContain(host);
});

test('a server on one address is known by that one', async () => {
  const gateway = server(['10.0.0.1', '10.0.0.2']);
  gateway.addListener('https://10.0.0.2:443', '10.0.0.2');
  gateway.addListener('http://localhost:80', '::1');
  await gateway.runOnce();
  const other = server();
  await other.runOnce();
  expect(hostsOf(other)).toEqual(expect.arrayContaining(['10.0.0.2 443', '::1 80']));
  expect(hostsOf(other)).not.toContain('10.0.0.1 443');
});

test('what a server listens on is forgotten when it stops, and ten minutes after it was killed', async () => {
  const [stopped, killed, other] = [server(), server(), server()];
  stopped.addListener('http://10.0.0.1:1', '10.0.0.1');
  killed.addListener('http://10.0.0.2:1', '10.0.0.2');
  for (const each of [stopped, killed, other]) await each.runOnce();
  expect(hostsOf(other)).toEqual(expect.arrayContaining(['10.0.0.1 1', '10.0.0.2 1']));
  await stopped.stop();
  clock.advance(10 * 60_000);
  await other.runOnce();
  expect(hostsOf(other)).not.toContain('10.0.0.1 1');
  expect(hostsOf(other)).toContain('10.0.0.2 1');
  clock.advance(60_000);
  await other.runOnce();
  expect(hostsOf(other)).not.toContain('10.0.0.2 1');
});
