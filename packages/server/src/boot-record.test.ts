import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockIdentity, recordBoot } from './boot-record.ts';

const PLACE = 'kernel/1/2';

function start(former: string | undefined, place: string | undefined = PLACE) {
  const bootId = randomUUID();
  return { bootId, ...recordBoot(bootId, { former, place }) };
}

test('who holds the lock where it was held before has outlived all that held it there', () => {
  const first = start(undefined);
  expect(first.ended).toEqual([]);
  const second = start(first.record);
  expect(second.ended).toEqual([first.bootId]);
  expect(start(second.record).ended).toEqual([second.bootId, first.bootId]);
});

test('hazard 44: in another place nobody is known to have ended, and nobody from before is remembered', () => {
  const elsewhere = start(start(undefined).record, 'kernel/1/3');
  expect(elsewhere.ended).toEqual([]);
  expect(start(elsewhere.record, 'kernel/1/3').ended).toEqual([elsewhere.bootId]);
});

test('where the place is unknown nobody is ever known to have ended', () => {
  const first = recordBoot(randomUUID(), { former: undefined, place: undefined });
  expect(recordBoot(randomUUID(), { former: first.record, place: undefined }).ended).toEqual([]);
});

test.each(['', '{', 'null', '{"place":"kernel/1/2"}', '{"place":"kernel/1/2","boots":["x"]}'])(
  'a damaged record proves nothing: %j',
  (former) => {
    expect(start(former).ended).toEqual([]);
  },
);

test('what is remembered is bounded', () => {
  let record: string | undefined;
  for (let i = 0; i < 100; i += 1) record = start(record).record;
  expect(start(record).ended).toHaveLength(16);
});

test('a copied file is another place, the file itself is not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-place-'));
  const [file, copy] = [join(folder, 'a'), join(folder, 'b')];
  await writeFile(file, '');
  await copyFile(file, copy);
  const place = await lockIdentity(file);
  expect(place).toBeDefined();
  expect(await lockIdentity(file)).toBe(place);
  expect(await lockIdentity(copy)).not.toBe(place);
  await rm(folder, { recursive: true });
});
