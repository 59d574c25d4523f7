import { type Caller, SERVER } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { readerOfEntries } from './entries-about.ts';

const viewer = (name: string): Caller => ({
  ...SERVER,
  kind: 'user',
  userId: name,
  name,
  grants: [{ role: 'viewer', namespace: name, ownOnly: false }],
});

test('histories are read for few of one caller at once; others are not kept waiting by it, and too many are refused', async () => {
  const clock = new ManualClock();
  const gates: (() => void)[] = [];
  const entriesAbout = readerOfEntries({
    clock,
    audit: {
      ofSubject: () => new Promise((resolve) => void gates.push(() => resolve([]))),
    },
  });
  const ask = (who: Caller) => entriesAbout(who, { subjectId: 'a', limit: 10 });
  const [ann, bob] = [viewer('ann'), viewer('bob')];
  const asked = Array.from({ length: 25 }, () => ask(ann));
  await expect(asked[24]).rejects.toMatchObject({
    code: 'rate_limited',
    retryAfterSeconds: 2,
    message: expect.stringContaining('6 histories are read for you already'),
  });
  expect(gates).toHaveLength(6);
  const others = ask(bob);
  while (gates.length < 7) await Promise.resolve();
  gates[6]!();
  expect(await others).toEqual({ rows: [], next: undefined });
  // Those who wait go on as others end.
  for (let open = 0; open < 25; open += 1) {
    gates[open]?.();
    await new Promise(setImmediate);
  }
  expect(await Promise.all(asked.slice(0, 24))).toHaveLength(24);
});
