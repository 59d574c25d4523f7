import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeptScripts } from './kept-scripts.ts';

const MINUTE_MS = 60_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-kept-'));
});
afterEach(() => rm(folder, { recursive: true }));

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
/** Distinct ones of one size. */
function script(i: number, size = 100) {
  const bytes = Buffer.alloc(size, `${i} `);
  return { bytes, sha256: digestOf(bytes) };
}
const [first, second, third, fourth] = [script(1), script(2), script(3), script(4)] as const;
const keptBy = (limits: { bytesMax?: number; countMax?: number }) =>
  new KeptScripts(folder, { bytesMax: 1_000_000, countMax: 1_000, ...limits });
const names = async () => (await readdir(folder)).sort();
const digests = (...scripts: { sha256: string }[]) => scripts.map(({ sha256 }) => sha256).sort();

async function usedBefore(name: string, ms: number): Promise<void> {
  const at = new Date(Date.now() - ms);
  await utimes(join(folder, name), at, at);
}

/** Kept in this order, the first the one that was used longest ago. */
async function keepAll(kept: KeptScripts, ...scripts: (typeof first)[]): Promise<void> {
  for (const [i, { sha256, bytes }] of scripts.entries()) {
    await kept.keep(sha256, bytes);
    await usedBefore(sha256, (scripts.length - i) * MINUTE_MS);
  }
}

describe('what is kept of fetched scripts (hazard 48)', () => {
  test('has at most so many bytes: those used longest ago go', async () => {
    const kept = keptBy({ bytesMax: 300 });
    await keepAll(kept, first, second, third);
    expect(await names()).toEqual(digests(first, second, third));
    expect(await kept.read(first.sha256)).toEqual(first.bytes);
    await kept.keep(fourth.sha256, fourth.bytes);
    expect(await names()).toEqual(digests(first, third, fourth));
    expect(await kept.read(second.sha256)).toBeUndefined();
    const large = script(5, 250);
    await kept.keep(large.sha256, large.bytes);
    expect(await names()).toEqual(digests(large));
  });

  test('has at most so many files', async () => {
    const kept = keptBy({ countMax: 2 });
    await keepAll(kept, first, second);
    await kept.keep(third.sha256, third.bytes);
    expect(await names()).toEqual(digests(second, third));
  });

  test('stays within its bounds when many are kept at once, by two processes', async () => {
    const both = [keptBy({ bytesMax: 1_000 }), keptBy({ bytesMax: 1_000 })];
    const scripts = Array.from({ length: 60 }, (_, i) => script(i));
    await Promise.all(scripts.flatMap(({ sha256, bytes }) => both.map((kept) => kept.keep(sha256, bytes))));
    const last = script(100);
    await both[0]!.keep(last.sha256, last.bytes);
    const left = await names();
    expect(left.length).toBeLessThanOrEqual(10);
    expect(left).toContain(last.sha256);
    for (const name of left) expect(digestOf(await readFile(join(folder, name)))).toBe(name);
  });

  test('is whole for whoever reads while another process removes', async () => {
    const kept = keptBy({ bytesMax: 2 * 1024 * 1024 });
    const other = keptBy({ bytesMax: 2 * 1024 * 1024 });
    const wanted = script(1, 1024 * 1024);
    await kept.keep(wanted.sha256, wanted.bytes);
    const others = Array.from({ length: 20 }, (_, i) => script(i + 2, 1024 * 1024));
    const removing = Promise.all(others.map(({ sha256, bytes }) => other.keep(sha256, bytes)));
    const reads = await Promise.all(Array.from({ length: 20 }, () => kept.read(wanted.sha256)));
    for (const bytes of reads) if (bytes) expect(digestOf(bytes)).toBe(wanted.sha256);
    await removing;
    for (const { sha256, bytes } of [script(31, 1024 * 1024), script(32, 1024 * 1024)])
      await other.keep(sha256, bytes);
    expect(await kept.read(wanted.sha256)).toBeUndefined();
  });

  test('counts what is being written and leaves it alone, until nobody can be writing it any more', async () => {
    const kept = keptBy({ bytesMax: 300 });
    const [written, left] = [`${'a'.repeat(64)}.${randomUUID()}`, `${'b'.repeat(64)}.${randomUUID()}`];
    await writeFile(join(folder, written), Buffer.alloc(200));
    await writeFile(join(folder, left), Buffer.alloc(200));
    await usedBefore(left, 61 * MINUTE_MS);
    await keepAll(kept, first);
    expect(await names()).toEqual([written, ...digests(first)].sort());
    await kept.keep(second.sha256, second.bytes);
    expect(await names()).toEqual([written, ...digests(second)].sort());
  });

  test('leaves other files of the folder alone', async () => {
    await writeFile(join(folder, 'notes.txt'), Buffer.alloc(1_000));
    const kept = keptBy({ bytesMax: 100 });
    await keepAll(kept, first, second);
    expect(await names()).toEqual([...digests(second), 'notes.txt'].sort());
  });

  test('leaves nothing behind that could not be kept', async () => {
    await rm(folder, { recursive: true });
    await writeFile(folder, 'no folder');
    await expect(keptBy({}).keep(first.sha256, first.bytes)).rejects.toThrow();
    expect((await stat(folder)).isFile()).toBe(true);
  });
});
