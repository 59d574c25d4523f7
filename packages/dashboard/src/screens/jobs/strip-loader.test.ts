import type { Strip } from '@carillon/client';
import { expect, test } from 'vitest';
import { createStripLoader } from './strip-loader.ts';

const strip = (id: string): Strip => ({ job_id: id, runs: [{ run_id: `run of ${id}` }] as never });

test('rows that ask together share a request, and each gets its own answer', async () => {
  const asked: (readonly string[])[] = [];
  const load = createStripLoader(async (ids) => {
    asked.push(ids);
    return ids.filter((id) => id !== 'gone').map(strip);
  });
  const answers = await Promise.all(['a', 'b', 'a', 'gone'].map(load));
  expect(asked).toEqual([['a', 'b', 'gone']]);
  expect(answers.map((runs) => runs[0]?.run_id)).toEqual(['run of a', 'run of b', 'run of a', undefined]);
});

test('more than the server takes are asked for in parts', async () => {
  const sizes: number[] = [];
  const load = createStripLoader(async (ids) => {
    sizes.push(ids.length);
    return ids.map(strip);
  });
  await Promise.all(Array.from({ length: 120 }, (_, i) => load(`job ${i}`)));
  expect(sizes).toEqual([50, 50, 20]);
});

test('a failure is told to all that asked, and the next ones are asked anew', async () => {
  let isDown = true;
  const load = createStripLoader(async (ids) => {
    if (isDown) throw new Error('down');
    return ids.map(strip);
  });
  await expect(Promise.all([load('a'), load('b')])).rejects.toThrow('down');
  isDown = false;
  expect(await load('a')).toHaveLength(1);
});
