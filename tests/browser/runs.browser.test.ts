import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ListedRun } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import {
  breakAnswers,
  expectAccessible,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
  pathOf,
  RUN_HANDLERS,
  tryAgain,
} from './stage.ts';

const WAIT = { withinMs: 60_000 };

describe.skipIf(!hasBrowser())('the list of runs', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    stage = await PageStage.open({ handlers: RUN_HANDLERS });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/runs');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const rows = () => page.getByRole('table', { name: 'Runs' }).locator('[data-id]');
  const ended = (count: number, status: string) =>
    eventually(async () => {
      const runs = await stage.admin.runs.list({ status, limit: 200 }).toArray({ max: 200 });
      expect(runs.length).toBeGreaterThanOrEqual(count);
      return runs;
    }, WAIT);
  const openRuns = async (query = '') => {
    await page.goto(`/runs${query}`);
    await rows().first().waitFor();
  };

  test('says what to do while nothing has run', async () => {
    await page.getByRole('heading', { name: 'Nothing has run yet' }).waitFor();
    await page.getByRole('button', { name: 'Copy the command' }).waitFor();
    await expectAccessibleInBothSchemes(page);
  });

  test('shows a run as soon as there is one, without a reload', async () => {
    await stage.admin.namespaces.create({ name: 'other' });
    await stage.admin.jobs.create({ name: 'kept apart', namespace: 'other', handler: 'ok' });
    await page.getByRole('link', { name: 'kept apart' }).waitFor();
  });

  test('leads back to the same rows, at the same height', async () => {
    await stage.admin.jobs.createMany(
      Array.from({ length: 60 }, (_, index) => ({
        ...{ name: `tape ${index}`, handler: 'fail', max_retries: 0 },
      })),
    );
    await ended(60, 'FAILED');
    await openRuns();
    await page.getByPlaceholder('State').click();
    await page.getByRole('option', { name: 'failed' }).click();
    await page.waitForURL(/status=FAILED/);
    await page.getByRole('heading', { name: 'Runs' }).click();
    await page.getByRole('link', { name: 'kept apart' }).waitFor({ state: 'detached' });
    const frame = page.getByRole('table', { name: 'Runs' });
    await frame.evaluate((element) => element.scrollTo({ top: 720 }));
    const row = page.locator('[data-id][aria-rowindex="30"]');
    const id = await row.getAttribute('data-id');
    await row.getByText('the tape is full').click();
    await page.getByRole('region', { name: 'Why it failed' }).waitFor();
    await page.goBack();
    await page.locator(`[data-id="${id}"][data-at]`).waitFor();
    expect(pathOf(page)).toContain('status=FAILED');
    expect(await frame.evaluate((element) => element.scrollTop)).toBe(720);
  });

  test('an address shows a colleague the same list', async () => {
    await openRuns('?status=FAILED&error=tape');
    const ids = (on: Page) =>
      on.locator('[data-id]').evaluateAll((found) => found.map((row) => row.dataset.id));
    const mine = await ids(page);
    const { page: theirs } = await stage.visitor();
    await stage.admin.users.create({
      ...{ name: 'bob', password: 'correct horse battery staple' },
      grants: [{ namespace: 'default', role: 'operator' }],
    });
    await theirs.goto(page.url());
    await theirs.getByLabel('Name').fill('bob');
    await theirs.locator('input[type=password]').fill('correct horse battery staple');
    await theirs.keyboard.press('Enter');
    await theirs.locator('[data-id]').first().waitFor();
    expect(pathOf(theirs)).toBe(pathOf(page));
    expect(await ids(theirs)).toEqual(mine);
    await theirs.close();
  });

  test('shows filters that only links set, and the range of a chart, and drops them one by one', async () => {
    const [failed] = await ended(1, 'failed');
    const { job_id: job, worker_id: worker, job_name: name } = failed!;
    const range = 'since=2020-01-02T14:02:00.000Z&until=2099-01-02T14:20:00.000Z';
    await openRuns(`?status=FAILED&job=${job}&worker=${worker}&${range}`);
    await page.getByLabel('When', { exact: true }).and(page.locator('input')).first().waitFor();
    const when = page.getByRole('combobox', { name: 'When' });
    expect(await when.inputValue()).toBe('Thu 2 Jan 15:02 – Fri 2 Jan 15:20');
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('button', { name: `Drop the filter Job: ${name}` }).click();
    await page.getByRole('button', { name: /^Drop the filter Worker/ }).click();
    await page.waitForURL((url) => !/job=|worker=/.test(url.search));
    await when.click();
    await page.getByRole('option', { name: 'last hour' }).click();
    await page.waitForURL((url) => url.searchParams.get('since') === '1h' && !url.searchParams.has('until'));
  });

  test('is used by keys alone: to a row, ticked, opened, to a filter', async () => {
    await openRuns('?status=FAILED');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const at = page.locator('[data-id][data-at]');
    expect(await at.getAttribute('aria-rowindex')).toBe('3');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('no such error');
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).press('Enter');
    await rows().first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/[0-9a-f-]+/);
  });

  test('runs ticked runs again and cancels others, after it has said what would happen', async () => {
    const before = (await ended(60, 'FAILED')).length;
    await openRuns('?status=FAILED');
    for (const index of [2, 3, 4])
      await page.locator(`[data-id][aria-rowindex="${index}"]`).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Run again 3 runs' }).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Run again 3' }).click();
    await page.getByText('3 run again.', { exact: true }).waitFor();
    await ended(before + 3, 'FAILED');

    const { job_id: jobId } = await stage.admin.jobs.create({ name: 'endless', handler: 'hold' });
    await ended(1, 'RUNNING');
    await openRuns('?status=RUNNING,FAILED');
    await page
      .getByRole('row', { name: /endless/ })
      .getByRole('checkbox')
      .check();
    await page.getByRole('row', { name: /tape/ }).first().getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await dialog.getByRole('heading', { name: 'Cancel 1 run', exact: true }).waitFor();
    await dialog.getByText('1 have ended already').waitFor();
    await dialog.getByRole('button', { name: 'Cancel 1' }).click();
    await page.getByText('1 cancelled or asked to stop.', { exact: true }).waitFor();
    await eventually(async () => {
      const [run] = (await stage.admin.jobs.runs(jobId).toArray()) as ListedRun[];
      expect(run?.status).toBe('CANCELLED');
    }, WAIT);
  });

  test('lets new rows wait while somebody has ticked some', async () => {
    await openRuns('?status=SUCCESS');
    await rows().first().getByRole('checkbox').check();
    const first = await rows().first().getAttribute('data-id');
    await stage.admin.jobs.create({ name: 'came later', handler: 'ok' });
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
    expect(await rows().first().getAttribute('data-id')).toBe(first);
    await page.getByRole('button', { name: 'Show 1 new' }).click();
    await page.getByRole('link', { name: 'came later' }).waitFor();
  });

  test('tells when a run that a person asked for really started, and that it was asked for', async () => {
    const due = new Date(Date.now() - 3_600_000).toISOString();
    const { job_id: jobId } = await stage.admin.jobs.create({
      ...{ name: 'given up', handler: 'fail', max_retries: 0, schedule_time: due },
    });
    const letter = await eventually(async () => {
      const [found] = await stage.admin.deadLetters.list({ job_id: jobId }).toArray();
      expect(found).toBeDefined();
      return found!;
    }, WAIT);
    const { run_id: redriven } = await stage.admin.deadLetters.redrive(letter.run_id);
    const { run_id: asked } = await stage.admin.jobs.runNow(jobId);
    const startOf = (runId: string) =>
      eventually(async () => {
        const run = await stage.admin.runs.get(runId);
        expect(run.ended_at).not.toBeNull();
        return run.started_at;
      }, WAIT);
    const starts = new Map([
      [redriven, await startOf(redriven)],
      [asked, await startOf(asked)],
    ]);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await openRuns(`?job=${jobId}`);
      await page.getByRole('columnheader', { name: 'Started', exact: true }).waitFor();
      for (const [runId, mark] of [
        [redriven, 'redriven'],
        [asked, 'by hand'],
      ] as const) {
        const row = page.locator(`[data-id="${runId}"]`);
        await row.getByText(mark, { exact: true }).waitFor();
        expect(await row.locator('time').first().getAttribute('datetime')).toBe(starts.get(runId));
      }
      await expectFits(page);
    }
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('tells that it cannot be read, and reads it when asked again', async () => {
    await page.goto('about:blank');
    const mend = await breakAnswers(page, /\/api\/runs\?/);
    await page.goto('/runs');
    await page.getByRole('alert').getByText('The database does not answer.').waitFor();
    await expectAccessibleInBothSchemes(page);
    await mend();
    await tryAgain(page);
    await rows().first().waitFor();
    stage.forgiveFailedAnswers();
  });

  test('shows viewers their namespace alone, and which role they lack', async () => {
    const viewer = await stage.signedIn('vic', [{ namespace: 'default', role: 'viewer' }], '/runs');
    await viewer.locator('[data-id]').first().getByRole('checkbox').check();
    const cancel = viewer.getByRole('button', { name: 'Cancel', exact: true });
    expect(await cancel.getAttribute('aria-disabled')).toBe('true');
    await cancel.hover();
    await viewer.getByRole('tooltip').getByText('Needs the role operator').waitFor();
    await viewer.goto('/runs?ns=other');
    await viewer
      .getByRole('heading', { name: 'No run matches' })
      .or(viewer.getByRole('alert'))
      .or(viewer.getByRole('heading', { name: 'Nothing has run yet' }))
      .first()
      .waitFor();
    expect(await viewer.getByText('kept apart').count()).toBe(0);
    const all = await viewer.evaluate(async () => (await fetch('/api/runs?limit=200')).text());
    expect(all).not.toContain('kept apart');
    await viewer.context().close();
  });

  test('fits a narrow screen', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await openRuns();
    await expectFits(page);
  });
});
