/** Views and preferences that people keep, and the owner of a job by name. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, expectFits, hasBrowser, PageStage, pathOf } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
const EDITOR = [{ namespace: 'default', role: 'editor' }];
const FAR = '2099-01-01T00:00:00Z';

describe.skipIf(!hasBrowser())('what people keep', () => {
  let stage: PageStage;
  beforeAll(async () => {
    stage = await PageStage.open();
    for (const name of ['kept one', 'kept two', 'other'])
      await stage.admin.jobs.create({ name, handler: 'default', schedule_time: FAR });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  test('a view is saved under a name, opened in another browser, found by the palette, renamed and deleted', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    expect(await page.getByRole('button', { name: 'Save view' }).count()).toBe(0);
    await page.getByLabel('Part of the name').fill('kept');
    await page.waitForURL(/text=kept/);
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('What is kept');
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'View: What is kept' }).waitFor();

    const elsewhere = await stage.signedIn('ada', ADMIN, '/jobs', { width: 390, scheme: 'dark' });
    await elsewhere.getByRole('button', { name: 'Views' }).click();
    await expectAccessible(elsewhere);
    await elsewhere.getByRole('menuitem', { name: 'What is kept' }).click();
    await elsewhere.getByRole('link', { name: 'kept one' }).waitFor();
    await elsewhere.getByRole('link', { name: 'other' }).waitFor({ state: 'detached' });
    expect(pathOf(elsewhere)).toBe('/jobs?text=kept');
    await expectFits(elsewhere);
    await elsewhere.context().close();

    await page.goto('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find jobs' }).fill('what is k');
    await page.getByRole('option', { name: 'What is kept' }).click();
    await page.waitForURL(/\/jobs\?text=kept/);

    await page.getByRole('button', { name: 'View: What is kept' }).click();
    await page.getByRole('menuitem', { name: 'Rename or delete' }).click();
    await page.getByLabel('Name of What is kept').fill('Mine');
    await page.getByRole('button', { name: 'Rename What is kept' }).click();
    await page.getByRole('button', { name: 'Delete Mine' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Delete Mine' }).click();
    await page.getByText('You have no views of the jobs.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Delete Mine' }).waitFor();
    await page.context().close();
  });

  test('views of runs are others than those of jobs, and nobody sees those of somebody else', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/runs?status=FAILED&since=24h');
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Mine');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'View: Mine' }).waitFor();
    await page.goto('/runs');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Mine' }).first().waitFor();
    expect(await page.getByRole('menuitem', { name: 'Mine' }).count()).toBe(1);
    await page.getByRole('menuitem', { name: 'Mine' }).click();
    await page.waitForURL((url) => url.search === '?status=FAILED&since=24h');
    // The same name again replaces it.
    await page.goto('/runs?status=TIMED_OUT');
    await page.getByRole('button', { name: 'Save view' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Mine');
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('button', { name: 'View: Mine' }).waitFor();
    await page.context().close();

    const other = await stage.signedIn('eve', EDITOR, '/runs?status=FAILED');
    await other.getByRole('button', { name: 'Save view' }).waitFor();
    expect(await other.getByRole('button', { name: 'Views' }).count()).toBe(0);
    await other.context().close();
  });

  test('a session of the admin key is told why it has no views', async () => {
    const { page } = await stage.visitor();
    await page.goto(`${stage.url}/login?next=${encodeURIComponent('/jobs?text=kept')}`);
    await page.getByText('Sign in with the admin key').click();
    await page.locator('input[type=password]').fill(stage.adminKey);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const save = page.getByRole('button', { name: 'Save view' });
    await save.waitFor();
    expect(await save.getAttribute('aria-disabled')).toBe('true');
    await save.hover();
    await page.getByRole('tooltip').getByText('Views belong to an account').waitFor();
    await page.context().close();
  });

  test('zone and colours that were chosen in one browser are there in the next', async () => {
    const page = await stage.signedIn('ada', ADMIN, '/jobs');
    await page.getByRole('button', { name: 'ada' }).click();
    const kept = () =>
      page.waitForResponse(
        (answer) => answer.url().endsWith('/api/me/preferences') && answer.request().method() === 'PUT',
      );
    const [dark] = await Promise.all([kept(), page.getByText('Dark', { exact: true }).click()]);
    expect(dark.status()).toBe(200);
    await page.getByRole('combobox', { name: 'Times are shown in' }).fill('Tokyo');
    const [zone] = await Promise.all([kept(), page.getByRole('option', { name: 'Asia/Tokyo' }).click()]);
    expect(zone.status()).toBe(200);
    const next = await stage.signedIn('ada', ADMIN, '/jobs?text=kept');
    await next.locator('html[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });
    await next.getByRole('button', { name: 'ada' }).click();
    await next.locator('input[role=combobox][value="Asia/Tokyo"]').waitFor();
    await page.context().close();
    await next.context().close();
  });

  test('the owner of a job is chosen by name, and shown by name', async () => {
    await stage.admin.users.create({
      name: 'grace',
      password: 'correct horse battery staple',
      grants: EDITOR as never,
    });
    const page = await stage.signedIn('ada', ADMIN, '/jobs/new');
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    await page.getByLabel('Name', { exact: false }).first().fill('owned');
    await page.getByLabel('Address').fill('https://example.org/report');
    await page.getByRole('combobox', { name: 'Owner' }).fill('gra');
    await page.getByRole('option', { name: 'grace' }).click();
    await page.getByRole('button', { name: 'Create job' }).click();
    await page.getByRole('heading', { name: 'owned' }).waitFor();
    const [grace] = await stage.admin.users.list({ name: 'grace' }).toArray();
    const [job] = await stage.admin.jobs.list({ name: 'owned' }).toArray();
    expect(job).toMatchObject({ user_id: grace?.user_id });
    await page.goto(`/jobs?user=${grace?.user_id}`);
    await page.getByRole('row', { name: /owned/ }).getByText('grace').waitFor();
    await page.locator('input[role=combobox][value="grace"]').waitFor();
    expect(await page.getByText(grace!.user_id).count()).toBe(0);
    await page.context().close();
    // Also to those who may not list users: in the list, in the definition, and in the form.
    const colleague = await stage.signedIn('vera', [{ namespace: '*', role: 'editor' }], '/jobs?text=owned');
    await colleague.getByRole('row', { name: /owned/ }).getByText('grace').waitFor();
    await colleague.goto(`/jobs/${job!.job_id}?tab=definition`);
    await colleague
      .getByRole('row', { name: /^Owner/ })
      .getByText('grace')
      .waitFor();
    await colleague.goto(`/jobs/${job!.job_id}/edit`);
    await colleague.locator('input[role=combobox][value="grace"]').waitFor({ state: 'attached' });
    await colleague.context().close();
  });
});
