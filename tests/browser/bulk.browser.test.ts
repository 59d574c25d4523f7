/** Actions on thousands at once: what would happen is told first, the number is typed, progress is seen, and Stop stops. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectAccessible, hasBrowser, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const WAIT = { withinMs: 120_000 };
const HERD = 5_000;
const BATCH = 1_000;
const FAILURES = 120;

describe.skipIf(!hasBrowser())('many at once', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open({
      handlers: {
        fail: () => {
          throw new Error('the tape is full');
        },
      },
    });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  test('a pause of 5,000 jobs counts, names ten, asks for the number, progresses, and stops', async () => {
    for (let from = 0; from < HERD; from += BATCH)
      await stage.admin.jobs.createMany(
        Array.from({ length: BATCH }, (_, index) => ({
          ...{ name: `herd ${from + index}`, handler: 'fail', schedule_time: '2099-01-01T00:00:00Z' },
        })),
      );
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=herd');
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('button', { name: 'Select all that match the filter' }).click();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: `Pause ${HERD} jobs` }).waitFor();
    await dialog.getByText(`and ${HERD - 10} more`).waitFor();
    expect(await dialog.getByRole('listitem').count()).toBe(10);
    expect(await countPaused()).toBe(0);
    await expectAccessible(page);
    const confirm = dialog.getByRole('button', { name: `Pause ${HERD}` });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${HERD} to confirm`).fill(String(HERD));

    // Parts wait until the test lets them on, so that Stop is pressed in the midst of it on any machine.
    let parts = 0;
    let letOn = () => {};
    const told = new Promise<void>((resolve) => {
      letOn = resolve;
    });
    await page.route(/\/api\/jobs\/bulk/, async (route) => {
      parts += 1;
      if (parts === 3) await told;
      await route.continue();
    });
    await confirm.click();
    await dialog.getByText(`2000 of ${HERD} paused.`).waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    letOn();
    await dialog.getByText('Stopped after 3000; what was done stays done.').waitFor();
    expect(await countPaused()).toBe(3_000);
    expect(parts).toBe(3);
    await page.unroute(/\/api\/jobs\/bulk/);

    // What is left is counted anew, and goes to the end.
    await dialog.getByText('Close', { exact: true }).click();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await dialog.getByLabel('Type 2000 to confirm').fill('2000');
    await dialog.getByRole('button', { name: 'Pause 2000' }).click();
    await page.getByText('2000 paused.', { exact: true }).waitFor();
    expect(await countPaused()).toBe(HERD);
    await page.context().close();
  });

  async function countPaused(): Promise<number> {
    const paused = await stage.admin.jobs
      .list({ status: 'PAUSED', text: 'herd', limit: 1_000 })
      .toArray({ max: HERD });
    return paused.length;
  }

  test('runs that match a filter are run again, and those that wait are cancelled, without ticking each', async () => {
    await stage.admin.jobs.createMany(
      Array.from({ length: FAILURES }, (_, index) => ({
        ...{ name: `tape ${index}`, handler: 'fail', max_retries: 0 },
      })),
    );
    const failed = (count: number) =>
      eventually(async () => {
        const runs = await stage.admin.runs.list({ status: 'FAILED', limit: 1_000 }).toArray({ max: 1_000 });
        expect(runs.length).toBe(count);
      }, WAIT);
    await failed(FAILURES);
    const page = await stage.signedIn('ada', ADMIN, '/runs?error=tape', { scheme: 'dark' });
    await page
      .getByRole('table', { name: 'Runs' })
      .locator('[data-id]')
      .first()
      .getByRole('checkbox')
      .check();
    await page.getByRole('button', { name: 'Select all that match the filter' }).click();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: `Run again ${FAILURES} runs` }).waitFor();
    await dialog.getByText('those that failed or timed out are meant').waitFor();
    await dialog.getByText(`and ${FAILURES - 10} more`).waitFor();
    await expectAccessible(page);
    await dialog.getByLabel(`Type ${FAILURES} to confirm`).fill(String(FAILURES));
    await dialog.getByRole('button', { name: `Run again ${FAILURES}` }).click();
    await page.getByText(`${FAILURES} run again.`, { exact: true }).waitFor();
    await failed(2 * FAILURES);

    await stage.admin.jobs.createMany(
      Array.from({ length: 15 }, (_, index) => ({ name: `waits ${index}`, handler: 'nobody' })),
    );
    await page.goto('/runs?status=QUEUED&handler=nobody');
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('button', { name: 'Select all that match the filter' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await dialog.getByRole('heading', { name: 'Cancel 15 runs' }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel 15' }).click();
    await page.getByText('15 cancelled or asked to stop.', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await page.context().close();
  });
});
