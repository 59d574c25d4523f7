import { expect, it } from 'vitest';
import { planLoad } from './loads.ts';

it('a steady load has its rate in every second, from a whole second on', () => {
  const { instantsMs, firstMs, lastMs } = planLoad({ kind: 'steady', perSecond: 10_000, seconds: 2 }, 1_500);
  expect(firstMs).toBe(2_000);
  expect(lastMs).toBe(3_999);
  expect(instantsMs.filter((at) => at < 3_000)).toHaveLength(10_000);
  expect(instantsMs.filter((at) => at === 2_007)).toHaveLength(10);
});

it('a herd of cron jobs shares one expression that names its instant', () => {
  const load = planLoad({ kind: 'cron-herd', jobs: 2 }, Date.UTC(2030, 10, 15, 9, 8, 6, 1));
  expect(load.firstMs).toBe(Date.UTC(2030, 10, 15, 9, 8, 7));
  expect(load.scheduleOf(1)).toEqual({ scheduleType: 'CRON', cronExpression: '7 8 9 15 11 *' });
});
