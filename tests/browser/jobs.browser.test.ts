/** The list of jobs, a job, and the form that makes and changes them, as people use them. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, expectFits, hasBrowser, PASSWORD, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const EDITOR = [{ namespace: '*', role: 'editor' }];
const FAR = '2099-01-01T00:00:00Z';

describe.skipIf(!hasBrowser())('jobs, on the page', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const make = (name: string, more: object = {}) =>
    stage.admin.jobs
      .create({ name, handler: 'default', schedule_time: FAR, ...more } as never)
      .then(({ job_id: id }) => id);

  test('the list tells when each runs, and shows names as text whatever is in them', async () => {
    await make('<img src=x onerror=alert(1)>', {
      ...{ schedule_time: undefined, cron_expression: '0 9 * * 1-5', time_zone: 'Europe/Paris' },
      labels: { team: 'billing' },
    });
    // With room for labels, which give way first.
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=onerror', { width: 1440 });
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    await page.getByText('every weekday at 09:00 (Europe/Paris)').waitFor();
    await page.getByText('team:billing').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Part of the name').fill('nothing has this name');
    await page.getByText('No job matches').waitFor();
    await expectAccessible(page);
  });

  test('the words of a schedule with its zone are not cut beside everything else', async () => {
    await make('with a zone', {
      ...{ schedule_time: undefined, cron_expression: '0 9 * * 1-5', time_zone: 'Europe/Berlin' },
    });
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=with+a+zone');
    await page.getByRole('columnheader', { name: 'Schedule', exact: true }).waitFor();
    const cell = page.getByRole('cell', { name: 'every weekday at 09:00 (Europe/Berlin)' });
    await cell.waitFor();
    const cut = await cell.evaluate((element) => element.scrollWidth - element.clientWidth);
    expect(cut).toBeLessThanOrEqual(0);
  });

  test('the form says whose a new job will be, and a missing value does not look typed in', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByLabel('Owner').and(page.getByPlaceholder('ada (you)')).waitFor();
    const address = page.locator('input[data-field="payload.url"][placeholder]');
    const colour = () =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('input[data-field="payload.url"]'), '::placeholder').color`,
      );
    const before = await colour();
    await page.getByRole('button', { name: 'Create job' }).click();
    await address.and(page.locator('[aria-invalid=true]')).waitFor();
    expect(await colour()).toBe(before);
  });

  test('what is wrong is told in the words of the page, not in those of the interface', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/00000000-0000-7000-8000-000000000000');
    await page.getByText('There is no such job').first().waitFor();
    expect(await page.getByRole('main').textContent()).not.toMatch(/\/api|the answer/);
  });

  test('many jobs are paused after a count and ten names, and resumed by one click', async () => {
    for (let i = 0; i < 12; i += 1) await make(`many ${i}`);
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=many');
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('button', { name: 'Select all that match the filter' }).click();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('and 2 more').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Pause 12' }).click();
    await page.getByText('12 paused.', { exact: true }).waitFor();
    expect((await stage.admin.jobs.list({ status: 'PAUSED', text: 'many' }).toArray()).length).toBe(12);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect
      .poll(async () => (await stage.admin.jobs.list({ status: 'PAUSED', text: 'many' }).toArray()).length)
      .toBe(0);
  });

  test('one that is ticked is duplicated', async () => {
    await make('to be copied');
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=copied');
    await page
      .getByRole('row', { name: /to be copied/ })
      .getByRole('checkbox')
      .check();
    await page.getByRole('link', { name: 'Duplicate' }).click();
    await page.waitForURL(/\/jobs\/new\?from=/);
  });

  test('more than a hundred are only changed after their number was typed', async () => {
    const jobs = Array.from({ length: 101 }, (_, i) => ({
      ...{ name: `herd ${i}`, handler: 'default', schedule_time: FAR },
    }));
    await stage.admin.jobs.createMany(jobs);
    const page = await stage.signedIn('ada', ADMIN, '/jobs?text=herd');
    await page.getByLabel('Select all that are shown').check();
    await page.getByRole('button', { name: 'Select all that match the filter' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Cancel 101' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 101 to confirm').fill('101');
    await confirm.click();
    await page.getByText('101 cancelled.', { exact: true }).waitFor();
    expect((await stage.admin.jobs.list({ status: 'CANCELLED', text: 'herd' }).toArray()).length).toBe(101);
  });

  test('a nightly job is made with the form, with its words, its fires and both changes of the clock', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new', { scheme: 'dark' });
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    await page.getByLabel('Name', { exact: false }).first().fill('nightly');
    await page.getByLabel('Address').fill('https://example.org/report');
    await page.getByText('Cron', { exact: true }).click();
    await page.getByLabel('Cron expression').fill('30 2 * * *');
    await page.getByText('Every day at 02:30 (Europe/Paris)').waitFor();
    await page.getByText(/clock goes forward/).waitFor();
    await page.getByText(/clock goes back/).waitFor();
    await page.getByRole('table', { name: 'Fires around the next clock change' }).waitFor();
    await expectAccessible(page);
    await page.getByText('JSON', { exact: true }).click();
    await page.getByLabel('The job as JSON').getByText('30 2 * * *').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.getByRole('heading', { name: 'nightly' }).waitFor();
    await page.getByText(/Every day at 02:30 \(Europe\/Paris\); next in/).waitFor();
    await expectAccessible(page);
    const [job] = await stage.admin.jobs.list({ name: 'nightly', include: 'payload' }).toArray();
    expect(job).toMatchObject({
      ...{ cron_expression: '30 2 * * *', time_zone: 'Europe/Paris', handler: 'http' },
      payload: { url: 'https://example.org/report' },
    });
  });

  test('the month of the next clock change is marked, also for fires at another hour', async () => {
    const id = await make('at three', {
      schedule_time: undefined,
      cron_expression: '0 3 * * *',
      time_zone: 'Europe/Paris',
    });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}?tab=calendar&month=2031-03`);
    await page.getByRole('cell', { name: /30.*clocks change.*03:00/ }).waitFor();
    await page.getByText('from +01:00 to +02:00: by UTC, fires after it are earlier.').waitFor();
    await expectAccessible(page);
    await page.goto(`/jobs/${id}?tab=calendar&month=2031-05`);
    await page.getByRole('button', { name: 'Show that month' }).click();
    await page.getByText('clocks change').waitFor();
  });

  test('all handlers can be chosen, and all that is missing is told at once', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.getByText('Give the job a name.').waitFor();
    await page.getByText('Give the address that it calls.').waitFor();
    await page.locator('[data-field="handler"]').click();
    await page.getByRole('option', { name: /^http/ }).waitFor();
    await page.getByRole('option', { name: /^script/ }).click();
    await page.getByLabel('Interpreter', { exact: false }).first().waitFor();
  });

  test('what the server refuses is told at its field, and a draft survives a reload and a new sign-in', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    await page.getByLabel('Name', { exact: false }).first().fill('broken');
    await page.getByLabel('Address').fill('ftp://example.org');
    await page.getByRole('button', { name: 'Create job' }).click();
    await page
      .getByRole('alert')
      .getByText(/payload.url must be/)
      .waitFor();
    expect(await page.getByLabel('Address').getAttribute('aria-invalid')).toBe('true');
    await page.reload();
    expect(await page.getByLabel('Address').inputValue()).toBe('ftp://example.org');
    // The session ends while somebody types: after the sign-in everything is there again.
    await page.getByLabel('Address').fill('https://example.org/after');
    await page.context().clearCookies();
    // Whatever the page asks next is refused, and it leaves for the sign-in: by itself, or by this.
    await page.reload();
    await page.waitForURL(/\/login/);
    await page.getByLabel('Name').fill('ada');
    await page.locator('input[type=password]').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    expect(await page.getByLabel('Address').inputValue()).toBe('https://example.org/after');
    await page.getByRole('button', { name: 'Drop the draft' }).click();
    expect(await page.getByLabel('Address').inputValue()).toBe('');
  });

  test('a save shows what changes; one that comes too late shows theirs and yours, and loses nothing', async () => {
    const id = await make('contested', { priority: 'low' });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await page.getByRole('heading', { name: 'Edit contested' }).waitFor();
    const name = page.getByLabel('Name', { exact: false }).first();
    await name.fill('contested by me');
    await stage.admin.jobs.update(id, { priority: 'high' });
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('cell', { name: 'contested by me' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody changed this job meanwhile').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Put mine on top of theirs' }).click();
    expect(await name.inputValue()).toBe('contested by me');
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'contested by me' }).waitFor();
    expect(await stage.admin.jobs.get(id)).toMatchObject({ name: 'contested by me', priority: 'high' });
  });

  test('a job is paused, resumed, run once however often it is clicked, and deleted by its name', async () => {
    const id = await make('acted on');
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/paused: nothing of its schedule starts until it is resumed/).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText(/; next/).waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByLabel('Reason').fill('to try it');
    await page.getByRole('button', { name: 'Run', exact: true }).dblclick();
    await page.waitForURL(/\/runs\//);
    const runs = await stage.admin.jobs.runs(id).toArray();
    expect(new Set(runs.map(({ run_id: runId }) => runId)).size).toBe(1);
    expect(runs[0]).toMatchObject({ trigger: 'manual', request_reason: 'to try it' });
    await page.goto(`/jobs/${id}?tab=calendar&month=2099-01`);
    await page.getByRole('table', { name: 'Fires in January 2099' }).waitFor();
    await expectAccessible(page);
    await deleteJob(page, 'acted on');
    await expect(stage.admin.jobs.get(id)).rejects.toMatchObject({ code: 'job_not_found' });
  });

  test('one of the next fires is skipped after a question and brought back, and the sentence tells what really runs', async () => {
    const id = await make('each year', {
      schedule_time: undefined,
      cron_expression: '0 9 1 1 *',
      time_zone: 'UTC',
    });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}`);
    const next = new Date((await stage.admin.jobs.get(id)).next_run_at!);
    const year = (ahead: number) => String(next.getUTCFullYear() + ahead);
    const fires = page.getByRole('table', { name: 'Next fires' }).getByRole('row');
    await fires.nth(4).waitFor();
    await fires.first().getByRole('button', { name: 'Skip' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The schedule goes on after it.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Skip this fire' }).click();
    await fires.first().getByText('skipped by ada').waitFor();
    await fires.first().locator('s').waitFor();
    await expectAccessible(page);
    const job = await stage.admin.jobs.get(id);
    expect(job.skipped_fires).toMatchObject([{ at: next.toISOString(), by: 'ada' }]);
    expect(job.next_run_at?.slice(0, 4)).toBe(year(1));
    await page.goto(`/jobs/${id}?tab=calendar&month=${year(0)}-01`);
    await page
      .getByRole('table', { name: /Fires in/ })
      .getByText('skipped')
      .waitFor();
    await fires.first().getByRole('button', { name: 'Undo' }).click();
    await fires.first().getByRole('button', { name: 'Skip' }).waitFor();
    expect((await stage.admin.jobs.get(id)).skipped_fires).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.reload();
    await fires.first().waitFor();
    await expectFits(page);
    await stage.admin.jobs.pause(id);
    await page.getByRole('heading', { name: 'Next fires if it is resumed, times of UTC' }).waitFor();
    await fires.nth(4).waitFor();
    expect(await fires.getByRole('button').count()).toBe(0);
  });

  test('many others at the same instant are told in the preview and on the calendar', async () => {
    await stage.admin.jobs.createMany(
      Array.from({ length: 60 }, (_, i) => ({
        ...{ name: `herd at noon ${i}`, handler: 'default', cron_expression: '0 12 * * *', time_zone: 'UTC' },
      })),
    );
    const id = await make('noon', {
      schedule_time: undefined,
      cron_expression: '0 12 * * *',
      time_zone: 'UTC',
    });
    const page = await stage.signedIn('ada', ADMIN, `/jobs/${id}/edit`);
    await page.getByText(/60 other jobs of this namespace fire at 12:00/).waitFor();
    await page.goto(`/jobs/${id}?tab=calendar`);
    await page.getByText('60 others at 12:00').first().waitFor();
    await expectAccessible(page);
  });

  test('a mistyped time zone is suggested as it is spelled', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByText('Cron', { exact: true }).click();
    const zone = page.getByRole('combobox', { name: 'Time zone' });
    await zone.click();
    await zone.fill('Berlni');
    await page.getByRole('option', { name: 'Did you mean Europe/Berlin?' }).click();
    await page.waitForFunction("document.querySelector('[data-field=time_zone]').value === 'Europe/Berlin'");
  });

  test('a time zone and an owner that are only typed are what is saved', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByRole('textbox', { name: 'Name' }).fill('typed');
    await page.getByText('Cron', { exact: true }).click();
    await page.getByLabel('Cron expression').fill('0 9 * * *');
    await page.getByRole('combobox', { name: 'Handler' }).fill('ok');
    await page.getByRole('combobox', { name: 'Owner' }).fill('ADA');
    const zone = page.getByRole('combobox', { name: 'Time zone' });
    await zone.fill('Berlni');
    await page.keyboard.press('Tab');
    await page.getByText('No time zone is called "Berlni": did you mean Europe/Berlin?').first().waitFor();
    await zone.fill('new york');
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/);
    const [job] = await stage.admin.jobs.list({ text: 'typed' }).toArray();
    expect(job).toMatchObject({ time_zone: 'America/New_York' });
    const users = await stage.admin.users.list().toArray();
    expect(job!.user_id).toBe(users.find(({ name }) => name === 'ada')?.user_id);
  });

  test('a viewer sees why actions are not theirs; an editor may not submit scripts', async () => {
    const id = await make('watched');
    const viewer = await stage.signedIn('bob', [{ namespace: 'default', role: 'viewer' }], `/jobs/${id}`);
    const pause = viewer.getByRole('button', { name: 'Pause' });
    expect(await pause.getAttribute('aria-disabled')).toBe('true');
    await pause.hover();
    const reason = viewer.getByText('Needs the role operator in default');
    await reason.waitFor();
    await viewer.getByRole('tab', { name: 'Definition' }).click();
    await reason.waitFor({ state: 'hidden' });
    await expectAccessible(viewer);
    const editor = await stage.signedIn('eve', EDITOR, '/jobs/new', { width: 390 });
    await editor.getByRole('combobox', { name: 'Handler' }).fill('script');
    await editor.getByRole('heading', { name: 'New job' }).click();
    await editor.getByText(/Scripts run as programs/).waitFor();
    await expectAccessible(editor);
  });
});

async function deleteJob(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const confirm = page.getByRole('button', { name: 'Delete the job' });
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await confirm.click();
  await page.waitForURL(/\/jobs$/);
}
