import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import {
  expectAccessibleInBothSchemes,
  hasBrowser,
  type Page,
  PageStage,
  pathOf,
  signIn,
  tryAgain,
} from './stage.ts';

const HANDLERS = {
  ok: () => 'done',
  torn: () => {
    throw new Error('the tape is torn');
  },
};
const WAIT = { withinMs: 60_000 };
const pathname = (url: string) => new URL(url).pathname;

describe.skipIf(!hasBrowser())('around every screen', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    stage = await PageStage.open({ settings: { port: await fixedPort() }, handlers: HANDLERS });
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

  test('Ctrl K lists what matches and nothing else after each letter, each entry once', async () => {
    await page.goto('/jobs');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    const dialog = page.getByRole('dialog', { name: 'Find anything' });
    const options = dialog.getByRole('option');
    await options.first().waitFor();
    const titles = () => options.locator('> :first-child').allTextContents();
    const all = await titles();
    expect(new Set(all).size).toBe(all.length);
    let typed = '';
    for (const key of [...'dead letters', ...Array<string>(11).fill('Backspace'), ...'zzz']) {
      await page.keyboard.press(key === ' ' ? 'Space' : key);
      typed = key === 'Backspace' ? typed.slice(0, -1) : typed + key;
      const wanted = typed.trim();
      const { hits } = await stage.admin.search.find(wanted);
      const fixed = all.filter((title) => title.toLowerCase().includes(wanted));
      await eventually(async () => {
        expect(await titles()).toEqual([...hits.map(({ title }) => title), ...fixed]);
      }, WAIT);
    }
    await dialog.getByText('Nothing is called so.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('Ctrl K opens the form of an invitation, also by its address, and once', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Find anything' }).getByRole('combobox').fill('invite');
    await page.getByRole('option', { name: 'Invite somebody' }).click();
    const form = page.getByRole('dialog', { name: 'Invite' });
    await form.getByLabel('User name').waitFor();
    await page.reload();
    await form.getByRole('button', { name: 'Back' }).click();
    await form.waitFor({ state: 'detached' });
    expect(pathOf(page)).toBe('/settings/users');
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

  test('Ctrl K finds failures by their error, and what other screens offer', async () => {
    const { job_id: jobId } = await stage.admin.jobs.create({
      ...{ name: 'winds tapes', handler: 'torn', max_retries: 0 },
    });
    await eventually(async () => {
      expect(await stage.admin.deadLetters.list({ job_id: jobId }).toArray()).toHaveLength(1);
      expect(await stage.admin.stats.failures()).toHaveLength(1);
    }, WAIT);
    await page.goto('/jobs');
    await page.keyboard.press('Control+k');
    const finder = page.getByRole('dialog', { name: 'Find anything' });
    await finder.getByRole('combobox').fill('tape is torn');
    await finder.getByRole('option', { name: /Runs whose error contains/ }).waitFor();
    await finder.getByRole('option', { name: /^the tape is torn.*error/ }).click();
    await page.waitForURL(/\/runs\?.*failure=/);
    await page
      .getByRole('table', { name: 'Runs' })
      .getByRole('link', { name: 'winds tapes' })
      .first()
      .waitFor();
    await page.keyboard.press('Control+k');
    await finder.getByRole('combobox').fill('redrive dead');
    await finder.getByRole('option', { name: /Redrive dead letters/ }).click();
    const asks = page.getByRole('dialog', { name: 'Redrive 1 dead letter' });
    await asks.getByRole('button', { name: 'Back' }).click();
    await page.waitForURL((url) => url.pathname === '/dead' && !url.search.includes('open'));
    await page.goto('/workers');
    await page.getByRole('table', { name: 'Workers' }).locator('[data-id] a').first().click();
    await page.getByRole('button', { name: 'Drain' }).waitFor();
    await page.keyboard.press('Control+k');
    await finder.getByRole('combobox').fill('drain');
    await finder.getByRole('option', { name: /Drain action · here/ }).waitFor();
    await page.keyboard.press('Escape');
    await finder.waitFor({ state: 'detached' });
  });

  test('the key t shows times in the next zone', async () => {
    await page.goto('/jobs');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('t');
    await page.getByText('Times are shown in UTC.').waitFor();
    await page.keyboard.press('t');
    await page.getByText('Times are shown in Europe/Paris.').waitFor();
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

  test('Esc leaves a filter, so that keys are shortcuts again', async () => {
    await page.goto('/jobs');
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('report');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(await page.getByLabel('Part of the name').inputValue()).toBe('report');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    // Of a list of choices, the first Esc closes what it offers.
    await page.getByPlaceholder('Schedule').click();
    await page.getByRole('option', { name: 'by cron' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option', { name: 'by cron' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
  });

  test('whether the system keeps up stands in the menu of a narrow screen', async () => {
    const figures = page.getByRole('status', { name: 'System' });
    await figures.getByText('start delay').waitFor();
    await page.setViewportSize({ width: 390, height: 740 });
    await page.goto('/jobs');
    await page.getByRole('button', { name: 'Navigation' }).click();
    for (const words of ['start delay', 'oldest waiting', 'slots']) await figures.getByText(words).waitFor();
    const box = (await figures.boundingBox())!;
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(390);
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 1280, height: 800 });
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

  test('the namespace stays in the address whatever is opened, until another is chosen', async () => {
    const { job_id: jobId } = await stage.admin.jobs.create({
      ...{ name: 'of the other', namespace: 'other', handler: 'ok', schedule_time: '2099-01-01T00:00:00Z' },
    });
    const { run_id: runId } = await stage.admin.jobs.runNow(jobId);
    await eventually(async () => {
      expect((await stage.admin.runs.get(runId)).status).toBe('SUCCESS');
    }, WAIT);
    const row = page.getByRole('row').filter({ hasText: 'of the other' });
    await page.goto('/jobs?ns=other');
    await row.getByRole('link', { name: 'of the other' }).click();
    await page.waitForURL(new RegExp(`/jobs/${jobId}.*ns=other`));
    await page.goto('/runs?ns=other');
    // Beside its links: the row itself opens the run.
    await row.click({ position: { x: 320, y: 5 } });
    await page.waitForURL(new RegExp(`/runs/${runId}.*ns=other`));
    await page.keyboard.press('n');
    await page.waitForURL(/\/jobs\/new\?ns=other/);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Find anything' }).getByRole('combobox').fill('dead letters');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/dead\?ns=other/);
    await page.getByPlaceholder('all namespaces').click();
    await page.getByRole('option', { name: 'other' }).click();
    await page.waitForURL((url) => url.search === '');
  });

  test('nothing is asked for while live updates are paused, on any screen', async () => {
    const job = await stage.admin.jobs.create({
      ...{ name: 'waits for ever', handler: 'nobody' },
    });
    const [run] = await stage.admin.runs.list({ status: 'QUEUED' }).toArray();
    await page.goto('/jobs');
    await live(page);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: /paused/ }).waitFor();
    await page.clock.install();
    const asked: string[] = [];
    const note = (request: { url(): string }) => asked.push(pathname(request.url()));
    page.on('request', note);
    for (const path of ['/', '/jobs', '/runs', '/dead', '/workers', `/runs/${run!.run_id}`]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // What the screen asks for when it is opened may still be under way.
      await eventually(async () => {
        asked.splice(0);
        await page.clock.runFor(60_000);
        // The log of a run is followed for as long as its tab is open.
        expect(
          asked.filter((each) => !each.endsWith('/logs')),
          path,
        ).toEqual([]);
      }, WAIT);
    }
    page.off('request', note);
    await stage.admin.jobs.cancel(job.job_id);
    await page.getByRole('button', { name: /paused/ }).click();
    await live(page);
  });

  test('an address that leads nowhere says so, beside the links to the screens', async () => {
    for (const noun of ['job', 'run']) {
      await page.goto(`/${noun}s/nonsense`);
      await page.getByRole('heading', { name: `There is no such ${noun}`, level: 1 }).waitFor();
      await page.getByRole('link', { name: `All ${noun}s` }).waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    }
    await page.goto('/jobs/nonsense');
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('link', { name: 'Search jobs by this name' }).click();
    await page.waitForURL((url) => url.pathname === '/jobs' && url.searchParams.get('text') === 'nonsense');
    await page.goto('/no/such/page');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Jobs' }).waitFor();
    await page.getByRole('link', { name: 'To the overview' }).click();
    await page.waitForURL((url) => url.pathname === '/');
  });

  test('a page whose first answer fails says why, and heals by itself and by its button', async () => {
    const other = await stage.signedIn('finn', [{ namespace: '*', role: 'viewer' }], '/jobs');
    for (const heal of ['by itself', 'by the button']) {
      await other.route('**/api/session', (route) => route.abort());
      await other.goto('/jobs');
      await other.getByRole('alert').getByText('cannot be reached').waitFor();
      await expectAccessibleInBothSchemes(other);
      await other.unroute('**/api/session');
      if (heal === 'by the button') await tryAgain(other);
      await other.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    }
    stage.forgiveFailedAnswers();
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
    // Trying to reach the server again does not make what is shown newer.
    const mark = page.getByRole('button', { name: /reconnecting/ });
    const asOf = await mark.getAttribute('aria-label');
    for (let failed = 0; failed < 3; failed += 1) await page.waitForEvent('requestfailed');
    expect(await mark.getAttribute('aria-label')).toBe(asOf);
    await stage.startAgain();
    await stage.admin.jobs.create({ name: 'after the restart', handler: 'ok' });
    await Promise.all(tabs.map((tab) => tab.getByRole('link', { name: 'after the restart' }).waitFor()));
    await Promise.all(tabs.map(live));
    await Promise.all(tabs.slice(1).map((tab) => tab.close()));
    stage.forgiveFailedAnswers();
  });
});
