import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  breakAnswers,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
} from './stage.ts';

describe.skipIf(!hasBrowser())('the overview', () => {
  let stage: PageStage;
  let page: Page;
  /** What does not fail any more. */
  let mended: string | undefined;
  beforeAll(async () => {
    stage = await PageStage.open({
      handlers: {
        fail: ({ payload }) => {
          if (payload.text !== mended) throw new Error(String(payload.text));
        },
      },
    });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/', { timeZone: 'UTC' });
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const fail = (name: string, text: string, namespace = 'default') =>
    stage.admin.jobs.create({ name, namespace, handler: 'fail', payload: { text }, max_retries: 0 });

  test('of an installation without jobs says how to make one', async () => {
    await page.getByRole('heading', { name: 'Welcome to Carillon' }).waitFor();
    await page.getByRole('link', { name: 'Make the first job' }).waitFor();
    await expectAccessibleInBothSchemes(page);
  });

  test('shows the error of a failure without a reload, and leads to the run', async () => {
    await stage.admin.jobs.create({
      name: 'tomorrow',
      handler: 'fail',
      schedule_time: '2099-01-01T00:00:00Z',
    });
    await page.getByRole('heading', { name: 'What failed' }).waitFor();
    await fail('copy tapes', 'the tape is full');
    await page.getByRole('link', { name: /the tape is full/ }).waitFor();
    await page.getByText('Attempts that ended, by outcome').waitFor({ state: 'attached' });
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('link', { name: /the tape is full/ }).click();
    await page.getByRole('region', { name: 'Why it failed' }).getByText('the tape is full').waitFor();
    await page.goBack();
    await fail('copy disks', 'the disk is full');
    await page.getByRole('link', { name: /the disk is full/ }).waitFor();
    const group = page.getByRole('listitem').filter({ hasText: 'the tape is full' });
    await group.getByRole('link', { name: 'all runs' }).click();
    await page.waitForURL(/\/runs\?.*status=FAILED/);
    await page.getByRole('link', { name: 'copy tapes' }).first().waitFor();
    const row = page.getByRole('table', { name: 'Runs' }).locator('[data-id]');
    expect(await row.allTextContents()).not.toContainEqual(expect.stringContaining('the disk is full'));
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await row.filter({ hasText: 'the disk is full' }).first().waitFor();
  });

  test('says of a failure that was redriven what became of it', async () => {
    await page.goto('/');
    const group = page.getByRole('listitem').filter({ hasText: 'the disk is full' });
    await group.waitFor();
    expect(await group.getByText('redriven').count()).toBe(0);
    const letters = await stage.admin.deadLetters.list({ handled: false }).toArray();
    const letter = letters.find(({ job_name: name }) => name === 'copy disks')!;
    mended = 'the disk is full';
    const { run_id: next } = await stage.admin.deadLetters.redrive(letter.run_id);
    const since = group.getByRole('link', { name: 'redriven, succeeded' });
    await since.waitFor();
    expect(await since.getAttribute('href')).toBe(`/runs/${next}`);
    await expectAccessibleInBothSchemes(page);
  });

  test('shows a failure that follows a quiet time as soon as the stream tells of it', async () => {
    await page.goto('/');
    await page.getByRole('link', { name: /the tape is full/ }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await fail('wind tapes', 'the tape is torn');
    // By itself the page asks again every 15 seconds; the limit only ends a hang.
    await page.getByRole('link', { name: /the tape is torn/ }).waitFor();
    const [failed] = await stage.admin.stats
      .failures()
      .then((groups) => groups.filter(({ message }) => message.includes('torn')));
    expect(failed?.count).toBe(1);
  });

  test('shows every time in the zone that was chosen', async () => {
    await stage.admin.jobs.create({
      ...{ name: 'soon', handler: 'fail', interval: '20m', time_zone: 'UTC' },
    });
    await page.goto('/');
    const readings = async () => {
      const times = page.getByRole('table', { name: 'Attempts that ended, by outcome' }).locator('tbody th');
      await times.first().waitFor({ state: 'attached' });
      await page.getByRole('table', { name: 'Next starts' }).locator('time').first().hover();
      const tip = await page.getByRole('tooltip').getByText(/\(/).textContent();
      return { chart: await times.first().textContent(), tip };
    };
    const utc = await readings();
    expect(utc.tip).toContain('(UTC)');
    await page.getByRole('button', { name: 'ada' }).click();
    await page.getByLabel('Times are shown in').and(page.locator('input')).first().fill('Tokyo');
    await page.getByRole('option', { name: 'Asia/Tokyo' }).click();
    await page.keyboard.press('Escape');
    await page.goto('/');
    const tokyo = await readings();
    expect(tokyo.tip).toContain('+09:00 (Asia/Tokyo)');
    const ninehours = 9 * 3_600_000;
    expect(Date.parse(`${tokyo.chart}Z`) - Date.parse(`${utc.chart}Z`)).toBe(ninehours);
  });

  test('tells of each card that it could not be read, and shows the others', async () => {
    await page.goto('about:blank');
    const mend = await breakAnswers(page, /\/api\/failures/);
    await page.goto('/');
    await page.getByRole('alert').getByText('The database does not answer.').waitFor();
    await page.getByRole('table', { name: 'Next starts' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await mend();
    // The page may have asked again by itself meanwhile.
    const link = page.getByRole('link', { name: /the tape is full/ });
    const again = page.getByRole('button', { name: 'Try again' }).click();
    await Promise.race([again.catch(() => undefined), link.waitFor()]);
    await page.getByRole('link', { name: /the tape is full/ }).waitFor();
    stage.forgiveFailedAnswers();
  });

  test('keeps what failed in other namespaces from viewers, also from direct requests', async () => {
    await stage.admin.namespaces.create({ name: 'other' });
    await fail('kept apart', 'a secret of others', 'other');
    await page.goto('/');
    await page.getByRole('link', { name: /a secret of others/ }).waitFor();
    const viewer = await stage.signedIn('vic', [{ namespace: 'default', role: 'viewer' }], '/');
    await viewer.getByRole('link', { name: 'copy tapes' }).waitFor();
    expect(await viewer.getByText('a secret of others').count()).toBe(0);
    expect(await viewer.getByRole('link', { name: 'New job' }).count()).toBe(0);
    const answers = await viewer.evaluate(async () =>
      Promise.all(
        [
          'failures',
          'failures?namespace=other',
          'search?q=kept',
          'stats?namespace=other',
          'jobs',
          'namespaces',
        ].map(async (path) => (await fetch(`/api/${path}`)).text()),
      ),
    );
    expect(answers.join(' ')).not.toMatch(/secret|kept apart/);
    await expectAccessibleInBothSchemes(viewer);
    await viewer.context().close();
  });

  test('is narrowed to a namespace by the address, on a narrow screen too', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto('/?ns=other');
    await page.getByRole('link', { name: /a secret of others/ }).waitFor();
    await page.getByText('the tape is full').waitFor({ state: 'detached' });
    await expectFits(page);
    await page.getByRole('button', { name: 'Navigation' }).click();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.waitForURL(/\/runs\?ns=other/);
  });

  test('shows what comes next of the chosen namespace, also behind many nearer starts of others', async () => {
    await stage.admin.namespaces.create({ name: 'quiet' });
    const { job_id: beat } = await stage.admin.jobs.create({
      name: 'beat',
      handler: 'fail',
      interval: '1s',
      time_zone: 'UTC',
    });
    await stage.admin.jobs.create({
      ...{ name: 'later', namespace: 'quiet', handler: 'fail', interval: '50m', time_zone: 'UTC' },
    });
    await page.goto('/?ns=quiet');
    const starts = page.getByRole('table', { name: 'Next starts' });
    await starts.getByRole('link', { name: 'later' }).waitFor();
    expect(await starts.getByRole('link', { name: 'beat' }).count()).toBe(0);
    await stage.admin.jobs.cancel(beat);
  });

  test('is narrowed to a range that is dragged on a chart, which leads to its runs', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto('/?range=24h');
    const chart = page.locator('.u-over').first();
    await page.getByRole('link', { name: /the tape is full/ }).waitFor();
    const box = (await chart.boundingBox())!;
    const drag = async (from: number, to: number) => {
      await page.mouse.move(box.x + from * box.width, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + to * box.width, box.y + 40, { steps: 5 });
      await page.mouse.up();
    };
    // What failed did so in the last minutes; failures are counted by the hour.
    await drag(0.1, 0.4);
    await page.waitForURL(/since=.*until=/);
    await page.getByText('Nothing failed in this time.').waitFor();
    await expectAccessibleInBothSchemes(page);
    const { searchParams } = new URL(page.url());
    await page.getByRole('link', { name: 'Runs of this time' }).click();
    await page.waitForURL(
      (url) => url.pathname === '/runs' && url.searchParams.get('since') === searchParams.get('since'),
    );
    await page.goBack();
    await page.getByRole('button', { name: /^Drop the filter Time/ }).click();
    await page.getByRole('link', { name: /the tape is full/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?range=24h');
  });
});
