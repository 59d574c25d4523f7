/** A run is one row however often it is tried, and what waits is seen. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { failingJob, givenUp, openRuns, shoot, WAIT } from './failing-runs.ts';
import { expectAccessibleInBothSchemes, expectFits, hasBrowser, type Page, type PageStage } from './stage.ts';

describe.skipIf(!hasBrowser())('runs and their attempts', () => {
  let stage: PageStage;
  let page: Page;
  beforeAll(async () => {
    ({ stage, page } = await openRuns());
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const rows = (table = 'Runs') => page.getByRole('table', { name: table }).locator('[data-id]');

  test('a run that waits stands in the list, and says what for, without a reload', async () => {
    await page.getByRole('heading', { name: 'Nothing has run yet' }).waitFor();
    await stage.admin.jobs.create({ name: 'nobody', handler: 'resise-image' });
    const row = rows().filter({ hasText: 'nobody' });
    await row.getByText('queued').waitFor();
    await row.getByText('no worker offers the handler "resise-image"').waitFor();
    await shoot(page, 'runs-waiting');
  });

  test('a run with four failed attempts is one row; each attempt is one where that is asked for', async () => {
    const { job_id: jobId } = await failingJob(stage, 'tape');
    await givenUp(stage, jobId);
    await page.goto('/runs');
    const row = rows().filter({ hasText: 'tape' });
    await row.first().waitFor();
    expect(await row.count()).toBe(1);
    expect(await row.textContent()).toMatch(/failed[\s\S]*4[\s\S]*the tape is full/);
    expect(await row.textContent()).not.toContain('tried again');
    await row.getByRole('checkbox').click();
    await page.getByText('1 selected').waitFor();
    await shoot(page, 'runs-last-attempts');
    await page.getByLabel('Each attempt').check();
    await page.waitForURL(/attempts=all/);
    await eventually(async () => expect(await row.count()).toBe(4), WAIT);
    expect(await row.filter({ hasText: 'failed, tried again' }).count()).toBe(3);
    await shoot(page, 'runs-each-attempt');
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 360, height: 780 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('a run that is tried again does not look given up', async () => {
    const { job_id: jobId } = await failingJob(stage, 'later', {
      retry: { delay_seconds: 3600, jitter: false },
    });
    await page.goto('/runs');
    const row = rows().filter({ hasText: 'later' });
    await row.getByText('retrying').waitFor();
    expect(await row.count()).toBe(1);
    await page.goto('/runs?status=FAILED');
    await row.getByText('failed, tried again').waitFor();
    expect(await row.count()).toBe(1);
    await page.goto(`/jobs/${jobId}`);
    await rows('Runs of this job').getByText('retrying').waitFor();
    expect(await rows('Runs of this job').count()).toBe(1);
    await stage.admin.jobs.cancel(jobId);
  });

  test('the page of a job lists its runs, not their attempts', async () => {
    const { job_id: jobId } = await failingJob(stage, 'thrice', { max_retries: 2 });
    await givenUp(stage, jobId);
    for (let i = 0; i < 2; i += 1) await stage.admin.jobs.runNow(jobId);
    await eventually(async () => {
      const letters = await stage.admin.deadLetters.list({ job_id: jobId }).toArray();
      expect(letters).toHaveLength(3);
    }, WAIT);
    await page.goto(`/jobs/${jobId}`);
    await page.getByText('The last 3 runs').waitFor();
    await eventually(async () => expect(await rows('Runs of this job').count()).toBe(3), WAIT);
    await shoot(page, 'job-runs');
    await rows('Runs of this job').first().getByText('the tape is full').click();
    const attempts = page.getByRole('table', { name: 'Attempts' });
    await attempts.getByText('failed, tried again').first().waitFor();
    expect(await attempts.getByText('failed, tried again').count()).toBe(2);
    expect(await attempts.getByText('the tape is full').count()).toBe(3);
    await shoot(page, 'run-attempts');
  });

  test('a job of which a run waits says so in the list of jobs, and what for', async () => {
    await page.goto('/jobs');
    const row = page.getByRole('table', { name: 'Jobs' }).locator('[data-id]').filter({ hasText: 'nobody' });
    await row.getByText('waiting').first().waitFor();
    await row.getByText('no worker offers the handler "resise-image"').first().waitFor();
    await shoot(page, 'jobs-waiting');
    await expectAccessibleInBothSchemes(page);
  });
});
