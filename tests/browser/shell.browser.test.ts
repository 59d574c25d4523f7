import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { expectAccessibleInBothSchemes, hasBrowser, type Page, PageStage, pathOf, signIn } from './stage.ts';

const WAIT = { withinMs: 60_000 };

describe.skipIf(!hasBrowser())('around every screen', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    stage = await PageStage.open({ settings: { port: await fixedPort() }, handlers: { ok: () => 'done' } });
    await stage.admin.namespaces.create({ name: 'other' });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/jobs');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const live = (on: Page) => on.getByRole('button', { name: 'live', exact: true }).waitFor();

  test('Ctrl K opens a job by its name and a run by its id', async () => {
    const { job_id: jobId } = await stage.admin.jobs.create({ name: 'nightly report', handler: 'ok' });
    // The first run of such a job has the id of the job.
    const { run_id: runId } = await stage.admin.jobs.runNow(jobId);
    await eventually(async () => {
      expect((await stage.admin.runs.get(runId)).status).toBe('SUCCESS');
    }, WAIT);
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Find anything' });
    await dialog.getByRole('combobox').fill('nightly');
    await dialog.getByRole('option', { name: /nightly report/ }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/jobs/${jobId}`);
    await page.keyboard.press('Control+k');
    await dialog.getByRole('combobox').fill(runId);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/runs/${runId}`);
    await page.keyboard.press('Control+k');
    await dialog.getByRole('combobox').fill('no such thing at all');
    await dialog.getByText('Nothing is called so.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('Ctrl K does what the screen offers, and leads to every part of the settings', async () => {
    const { job_id: jobId } = await stage.admin.jobs.create({
      ...{ name: 'weekly report', handler: 'ok', cron_expression: '0 9 * * 1' },
    });
    await page.goto(`/jobs/${jobId}`);
    await page.getByRole('heading', { name: 'weekly report' }).waitFor();
    const choose = async (typed: string, name: string) => {
      await page.keyboard.press('Control+k');
      const dialog = page.getByRole('dialog', { name: 'Find anything' });
      await dialog.getByRole('combobox').fill(typed);
      await dialog.getByRole('option', { name }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await choose('pause', 'Pause action · here');
    await page.getByText('weekly report is paused.').waitFor();
    await choose('secr', 'Secrets');
    await page.waitForURL('**/settings/secrets');
    await choose('dark', 'Dark colours');
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });
    await choose('system', 'Colours of the system');
  });

  test('the first Tab leads past the navigation, and into a screen that was opened', async () => {
    await page.goto('/jobs');
    await page.getByRole('heading', { level: 1 }).waitFor();
    const skip = page.getByRole('button', { name: 'Skip to the content' });
    await skip.focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
  });

  test('every screen is reached by keys alone, and ? lists them', async () => {
    for (const [key, path] of [
      ['o', '/'],
      ['j', '/jobs'],
      ['r', '/runs'],
      ['d', '/dead'],
      ['w', '/workers'],
      ['s', '/settings/me'],
    ]) {
      await page.keyboard.press('g');
      await page.keyboard.press(key!);
      await page.waitForURL((url) => url.pathname === path);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByRole('table', { name: 'Keys' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
  });

  test('the account menu changes colours, and live updates can be paused', async () => {
    await live(page);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: /paused/ }).click();
    await live(page);
    await page.getByRole('button', { name: 'ada' }).click();
    await page.getByText('Dark', { exact: true }).click();
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor({ state: 'attached' });
    await page.getByText('System', { exact: true }).click();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
  });

  test('the namespace narrows every screen', async () => {
    await page.goto('/runs');
    await page.getByPlaceholder('all namespaces').click();
    await page.getByRole('option', { name: 'other' }).click();
    await page.waitForURL(/\/runs\?ns=other/);
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs' }).click();
    await page.waitForURL(/\/jobs\?ns=other/);
  });

  test('an address that leads nowhere says so', async () => {
    await page.goto('/no/such/page');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByRole('link', { name: 'To the overview' }).click();
    await page.waitForURL((url) => url.pathname === '/');
  });

  test('a session that ends leads to the sign-in and back', async () => {
    const other = await stage.signedIn('eve', [{ namespace: '*', role: 'viewer' }], '/workers?label=a:b');
    await other.context().clearCookies();
    await other.waitForURL(/\/login\?next=/);
    await signIn(other, 'eve');
    expect(pathOf(other)).toBe('/workers?label=a%3Ab');
    await other.getByRole('button', { name: 'eve' }).click();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.waitForURL(/\/login/);
    await other.goto('/runs');
    await other.waitForURL(/\/login\?next=/);
    await other.context().close();
  });

  test('eight tabs load, stay live, and miss nothing over a restart of the server', async () => {
    const tabs = [page];
    for (let count = 1; count < 8; count += 1) {
      const tab = await page.context().newPage();
      stage.watch(tab);
      tabs.push(tab);
    }
    await Promise.all(tabs.map((tab) => tab.goto('/runs')));
    await Promise.all(tabs.map(live));
    await stage.admin.jobs.create({ name: 'seen by all', handler: 'ok' });
    await Promise.all(tabs.map((tab) => tab.getByRole('link', { name: 'seen by all' }).waitFor()));

    await stage.stopServer();
    await Promise.all(tabs.map((tab) => tab.getByRole('button', { name: /reconnecting/ }).waitFor()));
    await stage.startAgain();
    await stage.admin.jobs.create({ name: 'after the restart', handler: 'ok' });
    await Promise.all(tabs.map((tab) => tab.getByRole('link', { name: 'after the restart' }).waitFor()));
    await Promise.all(tabs.map(live));
    await Promise.all(tabs.slice(1).map((tab) => tab.close()));
    stage.forgiveFailedAnswers();
  });
});
