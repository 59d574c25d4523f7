/** From a failure to its cure: what was given up, redriven, run again or cancelled says so, and leads on. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { failingJob, givenUp, openRuns, shoot, WAIT } from './failing-runs.ts';
import { expectAccessibleInBothSchemes, expectFits, hasBrowser, type Page, type PageStage } from './stage.ts';

describe.skipIf(!hasBrowser())('a run that was given up', () => {
  let stage: PageStage;
  let page: Page;
  let jobId: string;
  let runId: string;
  beforeAll(async () => {
    ({ stage, page } = await openRuns());
    const job = await failingJob(stage, 'tape', { payload: { size: 1 } });
    jobId = job.job_id;
    const letter = await givenUp(stage, jobId);
    runId = letter.run_id;
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const region = (name: string) => page.getByRole('region', { name });

  test('is counted beside the way to the dead letters', async () => {
    await page.goto('/runs');
    await page.getByRole('navigation').getByLabel('1 open').waitFor();
  });

  test('says so on the page of its job, with what can be done', async () => {
    await page.goto(`/jobs/${jobId}`);
    await region('Given up').getByText('Given up after 4 attempts').first().waitFor();
    await region('Given up').getByRole('button', { name: 'Redrive' }).waitFor();
    await region('Given up').getByRole('link', { name: 'Edit the job' }).waitFor();
    await page.getByRole('link', { name: 'Open the log' }).waitFor();
    expect(
      await page
        .getByText('carillon ', { exact: false })
        .filter({ hasText: /carillon (runs|dlq|jobs)/ })
        .count(),
    ).toBe(0);
    await shoot(page, 'job-given-up');
    await expectAccessibleInBothSchemes(page);
  });

  test('on its own page leads to its redrive; the new run and the old one know each other', async () => {
    await page.goto(`/runs/${runId}`);
    await region('Given up').getByText('Given up after 4 attempts').waitFor();
    await shoot(page, 'run-given-up');
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 360, height: 780 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await region('Given up').getByRole('button', { name: 'Redrive' }).click();
    await page.getByText('Redriven by nina from run').waitFor();
    await shoot(page, 'run-redriven-from');
    await page.getByRole('link', { name: runId }).click();
    await region('Given up')
      .getByText(/It was redriven as .* by nina/)
      .waitFor();
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByText('Run again by nina from run').waitFor();
    await page.getByRole('link', { name: runId }).click();
    await page.getByText(/^Run again as .* by nina/).waitFor();
    await shoot(page, 'run-redriven-as');
  });

  test('that was run again rather than redriven says so', async () => {
    const { job_id: id } = await failingJob(stage, 'run again', { max_retries: 0 });
    const letter = await givenUp(stage, id);
    await page.goto(`/runs/${letter.run_id}`);
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByText('Run again by nina from run').waitFor();
    await page.goto(`/runs/${letter.run_id}`);
    await region('Given up')
      .getByText(/It was run again as .* by nina/)
      .waitFor();
    expect(await page.getByText('redriven').count()).toBe(0);
  });

  test('tells those who may not read logs nothing of a log', async () => {
    const { job_id: id } = await failingJob(stage, 'no log for viewers', { schedule_time: undefined });
    await givenUp(stage, id);
    const grants = [{ namespace: 'default', role: 'viewer' }];
    const viewer = await stage.signedIn('vic', grants, `/jobs/${id}`);
    await viewer.getByText('Mend the cause.', { exact: true }).waitFor();
    expect(await viewer.getByText('Open the log').count()).toBe(0);
  });

  test('shows the payload that it had, though the job was edited since', async () => {
    await stage.admin.jobs.update(jobId, { payload: { size: 2 } });
    await page.goto(`/runs/${runId}?tab=payload`);
    await page.getByText('The job was edited since').waitFor();
    await page.getByText('Payload of the job in version 1').waitFor();
    expect(await page.getByLabel('Payload', { exact: true }).last().textContent()).toContain('"size": 1');
    await shoot(page, 'run-old-payload');
  });

  test('a run that goes on says for how long, and a cancelled one who cancelled it', async () => {
    const { job_id: held } = await stage.admin.jobs.create({ name: 'held', handler: 'hold' });
    const run = await eventually(async () => {
      const [found] = await stage.admin.runs.list({ job_id: held, status: 'running' }).toArray();
      expect(found).toBeDefined();
      return found!;
    }, WAIT);
    await page.goto(`/runs/${run.run_id}`);
    await page.getByText('running for').waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await region('Cancelled').getByText('Cancelled by nina, while it was running.').waitFor();
    expect(await page.getByText('Why it failed').count()).toBe(0);
    await shoot(page, 'run-cancelled');
  });

  test('what nobody can run is named by the overview, and waits for the real reason', async () => {
    await stage.admin.jobs.create({ name: 'nobody', handler: 'resise-image' });
    await page.goto('/');
    await region('Runs that nobody can run').getByRole('link', { name: 'resise-image' }).waitFor();
    await page.getByText('oldest waiting').hover();
    await page.getByText('1 run could start and waits: no worker offers the handler resise-image').waitFor();
    await shoot(page, 'overview-unoffered');
    await page.mouse.move(640, 700);
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
    await expectAccessibleInBothSchemes(page);
    await region('Runs that nobody can run').getByRole('link', { name: 'resise-image' }).click();
    await page.getByRole('table', { name: 'Runs' }).getByText('nobody').first().click();
    await page.getByText('If its name is misspelled, edit the job.').first().waitFor();
    await shoot(page, 'job-no-worker');
  });
});
