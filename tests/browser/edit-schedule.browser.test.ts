/** What the form of a job shows of its schedule while it is written, and before a change of it is saved. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { shoot } from './failing-runs.ts';
import { expectAccessibleInBothSchemes, expectFits, hasBrowser, type Page, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];

describe.skipIf(!hasBrowser())('the schedule of a job, while it is written', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const make = async (name: string, more: object) =>
    (await stage.admin.jobs.create({ name, handler: 'default', ...more } as never)).job_id;
  const cron = (page: Page) => page.getByLabel('Cron expression');
  const months = (page: Page) => page.getByRole('table', { name: /^Fires in/ });

  test('stands on a calendar with the day on which clocks change, and follows what is typed', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByText('Cron', { exact: true }).click();
    await cron(page).fill('30 2 L * *');
    const days = months(page).getByRole('cell').filter({ hasText: '1×' });
    await days.first().waitFor();
    await page.getByRole('button', { name: 'Show that month' }).click();
    await months(page).getByText('clocks change').waitFor({ state: 'attached' });
    await page.getByText(/Clocks of Europe\/Paris go .*: by UTC, fires after it are/).waitFor();
    await cron(page).fill('*/30 * * * *');
    await months(page).getByText('48×').first().waitFor();
    await shoot(page, 'edit-calendar');
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByText('Now', { exact: true }).click();
    await months(page).waitFor({ state: 'detached' });
  });

  test('says what an outage would leave of it, by the policy that is chosen', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByText('Cron', { exact: true }).click();
    await cron(page).fill('0 9 * * *');
    const told = page.getByRole('note', { name: 'Missed runs' });
    await told.getByText(/only that of .* 09:00 is made up for then; the other 2 are skipped/).waitFor();
    await page.getByText('Start, end, clock changes and missed runs').click();
    const policy = page.getByRole('combobox', { name: 'Runs missed in an outage' });
    await policy.click();
    await page.getByRole('option', { name: 'are skipped', exact: true }).click();
    await told.getByText(/all 3 runs are skipped/).waitFor();
    await policy.click();
    await page.getByRole('option', { name: /are all made up for/ }).click();
    await page.getByLabel('Missed within the last').fill('604800');
    await told.getByText(/all 3 runs are made up for then. So is what a pause leaves out/).waitFor();
  });

  test('is shown before a change with the fires that go and come, by one clock', async () => {
    const id = await make('moved', { cron_expression: '0 9 * * *', time_zone: 'Europe/Paris' });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await cron(page).fill('0 9,18 * * *');
    await page.getByRole('button', { name: 'Review and save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save these changes?' });
    const row = dialog.getByRole('row', { name: /next fires, times of Europe\/Paris/ });
    const [before, after] = [row.getByRole('cell').nth(1), row.getByRole('cell').nth(2)];
    await after
      .getByText(/added: .* 18:00/)
      .first()
      .waitFor();
    // As far as both are known: nothing looks as if it were left out.
    expect((await before.textContent())!.match(/09:00/g)).toHaveLength(4);
    expect((await after.textContent())!.match(/18:00|09:00/g)).toHaveLength(8);
    expect(await row.getByText('removed: ').count()).toBe(0);
    await shoot(page, 'edit-save-fires');
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Back' }).click();
    await cron(page).fill('0 9 * * *');
    await page.getByLabel('Name', { exact: false }).first().fill('named otherwise');
    await page.getByRole('button', { name: 'Review and save' }).click();
    await dialog.getByRole('row', { name: /named otherwise/ }).waitFor();
    expect(await dialog.getByText('next fires').count()).toBe(0);
  });
});
