/** One attempt of a run by its address, what is different from the last success, and what the run had saved. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { shoot, WAIT } from './failing-runs.ts';
import {
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
  pathOf,
} from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];

describe.skipIf(!hasBrowser())('a run with several attempts', () => {
  let stage: PageStage;
  let page: Page;
  let jobId: string;
  let runId: string;
  let succeeded: string;

  const ended = (status: string) =>
    eventually(async () => {
      const [run] = await stage.admin.runs
        .list({ job_id: jobId, attempts: 'last', limit: 1 })
        .toArray({ max: 1 });
      expect(run).toMatchObject({ status, tried_again: false });
      return run!.run_id;
    }, WAIT);

  beforeAll(async () => {
    stage = await PageStage.open({
      handlers: {
        copy: async ({ payload, log, attempt, checkpoint }) => {
          log.info(`try ${attempt} begins`);
          if (payload.to !== 'tape') return;
          await checkpoint.save({ row: 41_000 + attempt });
          throw new Error(`try ${attempt}: the tape is full`);
        },
      },
    });
    const job = { name: 'copy', handler: 'copy', max_retries: 1, payload: { to: 'disk', size: 1 } };
    ({ job_id: jobId } = await stage.admin.jobs.create({
      ...job,
      retry: { delay_seconds: 0.01, jitter: false },
    } as never));
    succeeded = await ended('SUCCESS');
    await stage.admin.jobs.update(jobId, { payload: { to: 'tape', size: 1 }, priority: 'high' });
    await stage.admin.jobs.runNow(jobId, { input: { dry: true } });
    runId = await ended('FAILED');
    page = await stage.signedIn('ada', ADMIN, `/runs/${runId}`);
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const log = () => page.getByRole('log', { name: 'Log' });
  const details = () => page.getByRole('table', { name: 'Attempt', exact: true });

  test('shows all attempts, and the log and the details of one that is chosen', async () => {
    await page.goto(`/runs/${runId}`);
    await log().getByText('try 1 begins').waitFor();
    await log().getByText('try 2 begins').waitFor();
    expect(await details().count()).toBe(0);
    await page.getByRole('link', { name: 'Attempt 1: details and log' }).click();
    await details().getByText('try 1: the tape is full').waitFor();
    expect(pathOf(page)).toBe(`/runs/${runId}?attempt=1`);
    await log().getByText('try 2 begins').waitFor({ state: 'detached' });
    await log().getByText('try 1 begins').waitFor();
    const download = await page.getByRole('link', { name: 'Download' }).getAttribute('href');
    const text = await (await page.request.get(download!)).text();
    expect(text).toContain('try 1 begins');
    expect(text).not.toContain('try 2 begins');
    await shoot(page, 'run-chosen-attempt');
    await expectAccessibleInBothSchemes(page);

    await page.getByRole('combobox', { name: 'Attempt' }).click();
    await page.getByRole('option', { name: 'attempt 2' }).click();
    await details().getByText('try 2: the tape is full').waitFor();
    await log().getByText('try 1 begins').waitFor({ state: 'detached' });
    // What a colleague sees who was given the address.
    await page.goto(pathOf(page));
    await details().getByText('try 2: the tape is full').waitFor();
    await log().getByText('try 2 begins').waitFor();
    await page.getByRole('button', { name: 'All attempts' }).click();
    await details().waitFor({ state: 'detached' });
    await log().getByText('try 1 begins').waitFor();
    expect(pathOf(page)).toBe(`/runs/${runId}`);
  });

  test('names what is different from the last run that succeeded', async () => {
    await page.goto(`/runs/${runId}`);
    await page.getByRole('tab', { name: 'Since the last success' }).click();
    const table = page.getByRole('table', { name: 'Differences from the last success' });
    await table.getByRole('row', { name: /payload\.to disk tape/ }).waitFor();
    await table.getByRole('row', { name: /priority medium high/ }).waitFor();
    await table.getByRole('row', { name: /version of the job 1 2/ }).waitFor();
    await table.getByRole('row', { name: /^input none/ }).waitFor();
    await table.getByRole('row', { name: /^took/ }).waitFor();
    expect(await table.getByRole('row', { name: /worker|size/ }).count()).toBe(0);
    await shoot(page, 'run-since-success');
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('link', { name: succeeded }).click();
    await page.getByText('succeeded').first().waitFor();
    expect(await page.getByRole('tab', { name: 'Since the last success' }).count()).toBe(0);
  });

  test('shows where on the line of time it saved a checkpoint, and what that is', async () => {
    await page.goto(`/runs/${runId}`);
    await page
      .getByRole('img', { name: /^attempt 2 waited .*, took .*, saved a checkpoint after/ })
      .waitFor();
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.getByRole('region', { name: 'Checkpoint' }).getByText('41002').waitFor();
    await shoot(page, 'run-checkpoint');
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectFits(page);
    await shoot(page, 'run-details-narrow');
    await page.setViewportSize({ width: 1280, height: 800 });
    const viewer = await stage.signedIn('vic', [{ namespace: '*', role: 'viewer' }], `/runs/${runId}`);
    await viewer.getByText('It saved a checkpoint of').waitFor();
    expect(await viewer.getByRole('button', { name: 'Show it' }).count()).toBe(0);
  });

  test('is run again after a question that says what with', async () => {
    await page.goto(`/runs/${runId}`);
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Run copy again?' });
    await dialog.getByText(/with the job as it is now, and the input of this run/).waitFor();
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stage.admin.runs.list({ job_id: jobId, attempts: 'last' }).toArray()).toHaveLength(2);
  });

  test('the runs of a job are narrowed to a state, in the address', async () => {
    await page.goto(`/jobs/${jobId}?status=FAILED`);
    const rows = page.getByRole('table', { name: 'Runs of this job' }).locator('[data-id]');
    await rows.getByText('failed').waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'timed out' }).click();
    await page.getByText('No run is in this state').waitFor();
    expect(pathOf(page)).toBe(`/jobs/${jobId}?status=TIMED_OUT`);
    await expectAccessibleInBothSchemes(page);
  });
});
