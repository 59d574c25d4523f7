import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NameResolver, type NameSources } from './resolve-name.ts';

/** What a question for addresses is answered with. silent: never. Others are unknown. */
const ANSWERS: Readonly<Record<string, string | 'silent'>> = {
  'good.test': '192.0.2.1',
  'db.corp.test': '192.0.2.2',
  'a.b.corp.test': '192.0.2.3',
};
const isSilent = (name: string) => name.endsWith('evil.test');

let server: Socket;
let folder: string;
let asked: string[];

beforeEach(async () => {
  asked = [];
  folder = mkdtempSync(join(tmpdir(), 'names-'));
  server = createSocket('udp4');
  server.on('message', (question, from) => {
    const { name, type, end } = readQuestion(question);
    if (type === 1) asked.push(name);
    if (isSilent(name)) return;
    server.send(
      answerTo(question, { end, address: ANSWERS[name], isAddress: type === 1 }),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const names = (sources: NameSources = {}) =>
  new NameResolver({
    servers: [`127.0.0.1:${server.address().port}`],
    hostsFile: file('no-hosts', ''),
    resolvFile: file('no-search', ''),
    askSystem: undefined,
    ...sources,
  });
const v4 = (address: string) => [{ address, family: 4 }];

describe('names that jobs call', () => {
  test('are found while any number of others are not answered, and these end with their runs (hazard 45)', async () => {
    const resolver = names();
    const aborted = new AbortController();
    const hanging = Array.from({ length: 50 }, (_, i) => resolver.resolve(`x${i}.evil.test`, aborted.signal));
    const ends = Promise.allSettled(hanging);
    expect(await resolver.resolve('good.test')).toEqual(v4('192.0.2.1'));
    aborted.abort();
    for (const end of await ends)
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'EAI_AGAIN' } });
  });

  test('are looked up in the hosts file first, as it is now', async () => {
    const hostsFile = file('hosts', '# all\n192.0.2.9  Good.test other # here\nfe80::1 good.test\n');
    const resolver = names({ hostsFile });
    expect(await resolver.resolve('good.TEST')).toEqual([
      ...v4('192.0.2.9'),
      { address: 'fe80::1', family: 6 },
    ]);
    writeFileSync(hostsFile, '192.0.2.10 other\n');
    expect(await resolver.resolve('other')).toEqual(v4('192.0.2.10'));
    expect(await resolver.resolve('good.test')).toEqual(v4('192.0.2.1'));
  });

  test('are completed by the domains of the machine, in the order that the number of their dots asks for', async () => {
    const resolver = names({ resolvFile: file('resolv.conf', 'search corp.test\noptions ndots:2 edns0\n') });
    expect(await resolver.resolve('db')).toEqual(v4('192.0.2.2'));
    expect(asked.splice(0)).toEqual(['db.corp.test']);
    expect(await resolver.resolve('good.test')).toEqual(v4('192.0.2.1'));
    expect(asked.splice(0)).toEqual(['good.test.corp.test', 'good.test']);
    expect(await resolver.resolve('a.b.corp.test')).toEqual(v4('192.0.2.3'));
    expect(asked.splice(0)).toEqual(['a.b.corp.test']);
    await expect(resolver.resolve('db.')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(asked).toEqual(['db']);
  });

  test('that nobody knows are asked of the system where it has sources of its own, one at a time', async () => {
    const waiting: PromiseWithResolvers<{ address: string; family: number }[]>[] = [];
    const resolver = names({
      askSystem: () => {
        waiting.push(Promise.withResolvers());
        return waiting.at(-1)!.promise;
      },
    });
    const [first, second] = [resolver.resolve('printer.local'), resolver.resolve('nobody.local')];
    while (waiting.length === 0) await new Promise(setImmediate);
    expect(await resolver.resolve('good.test')).toEqual(v4('192.0.2.1'));
    expect(waiting).toHaveLength(1);
    waiting[0]!.resolve(v4('192.0.2.20'));
    expect(await first).toEqual(v4('192.0.2.20'));
    while (waiting.length === 1) await new Promise(setImmediate);
    waiting[1]!.resolve([]);
    await expect(second).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('are unknown, or those of this machine, by agreement', async () => {
    const resolver = names();
    await expect(resolver.resolve('nowhere.invalid')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(await resolver.resolve('app.localhost')).toEqual(v4('127.0.0.1'));
    expect(asked).toEqual([]);
  });
});

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let size = message[at]!; size > 0; size = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += size + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function answerTo(
  question: Buffer,
  { end, address, isAddress }: { end: number; address: string | undefined; isAddress: boolean },
): Buffer {
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(address !== undefined && isAddress ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  const record = Buffer.from([
    0xc0,
    12,
    0,
    1,
    0,
    1,
    0,
    0,
    0,
    5,
    0,
    4,
    ...(address ?? '').split('.').map(Number),
  ]);
  const answers = address !== undefined && isAddress ? [record] : [];
  return Buffer.concat([header, question.subarray(12, end), ...answers]);
}
