/** Every time on the page follows the one choice of a zone: in lists, on a job and its calendar, on a run and in its log. */

import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { WAIT } from './failing-runs.ts';
import { hasBrowser, type Page, PageStage } from './stage.ts';

const ADMIN = [{ namespace: '*', role: 'admin' }];
/** Half an hour off: no other zone of these tests shows such minutes. */
const [PARIS, TOKYO, KOLKATA] = ['Europe/Paris', 'Asia/Tokyo', 'Asia/Kolkata'] as const;

describe.skipIf(!hasBrowser())('the zone of times', () => {
  let stage: PageStage;
  let page: Page;
  let jobId: string;
  let run: { run_id: string; started_at: string | null };

  beforeAll(async () => {
    stage = await PageStage.open({ handlers: { say: ({ log }) => log.info('said') } });
    const job = { name: 'noon', handler: 'say', cron_expression: '0 12 1 1 *', time_zone: KOLKATA };
    ({ job_id: jobId } = await stage.admin.jobs.create(job as never));
    const { run_id: runId } = await stage.admin.jobs.runNow(jobId);
    run = await eventually(async () => {
      const found = await stage.admin.runs.get(runId);
      expect(found.status).toBe('SUCCESS');
      return found;
    }, WAIT);
    page = await stage.signedIn('ada', ADMIN, '/', { timeZone: PARIS });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const choose = async (typed: string, label = typed) => {
    await page.getByRole('button', { name: 'ada', exact: true }).click();
    const zone = page.getByRole('combobox', { name: 'Times are shown in' });
    await zone.fill(typed);
    await page.getByRole('option', { name: label, exact: true }).click();
    await page.keyboard.press('Escape');
  };
  const clock = (zone: string) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'medium' }).format(
      new Date(run.started_at!),
    );
  /** The whole instant is told on hover, with its zone. */
  const expectZone = async (part: Locator, zone: string) => {
    await part.locator('time').locator('visible=true').first().hover();
    await page.getByRole('tooltip').getByText(`(${zone})`).waitFor();
    await page.mouse.move(0, 0);
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
  };
  const log = () => page.getByRole('log', { name: 'Log' });

  const expectEverywhere = async (aboutJob: string, elsewhere = aboutJob) => {
    await page.goto('/runs');
    await expectZone(page.getByRole('table', { name: 'Runs' }), elsewhere);
    await page.goto(`/jobs/${jobId}`);
    await expectZone(page.getByRole('table', { name: 'Runs of this job' }), aboutJob);
    await page.getByRole('tab', { name: 'Definition' }).click();
    await expectZone(page.getByRole('tabpanel'), aboutJob);
    await page.goto(`/runs/${run.run_id}?attempt=1`);
    await log().getByText('said').waitFor();
    expect(await log().textContent()).toContain(clock(aboutJob));
    const attempt = page.getByRole('table', { name: 'Attempt', exact: true });
    await attempt.getByRole('row', { name: new RegExp(`^Started .* ${clock(aboutJob)}`) }).waitFor();
    await expectZone(attempt, aboutJob);
    await expectZone(page.getByRole('table', { name: 'Attempts' }), aboutJob);
  };

  test('Tokyo changes every time shown, and the fires of a schedule keep their own', async () => {
    await expectEverywhere(PARIS);
    await choose(TOKYO);
    await expectEverywhere(TOKYO);
    await page.goto(`/jobs/${jobId}?tab=calendar&month=2031-01`);
    await page.getByText(`Times of ${KOLKATA}.`).waitFor();
    await page.getByRole('cell', { name: /^1 .*12:00$/ }).waitFor();
    await page
      .getByText(/; next .* 15:30 Asia\/Tokyo/)
      .or(page.getByText(`times of ${KOLKATA}`))
      .first()
      .waitFor();
    await page.goto(`/jobs/${jobId}/edit`);
    const fires = page.getByRole('table', { name: 'Next fires' });
    await fires.getByRole('columnheader', { name: `${TOKYO} (yours)` }).waitFor();
    await fires
      .getByRole('row', { name: /1 Jan 20\d\d 12:00 .*1 Jan 20\d\d 15:30/ })
      .first()
      .waitFor();
  });

  test('an interval has no clock of its own: its calendar follows the choice', async () => {
    const every = { name: 'each day', handler: 'say', interval: '1d', start_at: '2031-01-01T20:00:00Z' };
    const { job_id: id } = await stage.admin.jobs.create(every as never);
    await page.goto(`/jobs/${id}?tab=calendar&month=2031-01`);
    await page.getByText(`Times of ${TOKYO}.`).waitFor();
    await page
      .getByRole('cell', { name: /^2 .*05:00$/ })
      .first()
      .waitFor();
    await choose('UTC');
    await page
      .getByRole('cell', { name: /^2 .*20:00$/ })
      .first()
      .waitFor();
  });

  test('that of the job is used where the page is about one job, and kept for the person', async () => {
    await choose('Of the job that is shown');
    await expectEverywhere(KOLKATA, PARIS);
    expect(
      (await page.evaluate<{ zone: string }>("fetch('/api/me/preferences').then((a) => a.json())")).zone,
    ).toBe('job');
  });
});
