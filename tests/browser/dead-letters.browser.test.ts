import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  breakAnswers,
  expectAccessibleInBothSchemes,
  expectFits,
  hasBrowser,
  type Page,
  PageStage,
} from './stage.ts';

describe.skipIf(!hasBrowser())('dead letters', () => {
  let stage: PageStage;
  let page: Page;
  let isMended = false;
  beforeAll(async () => {
    stage = await PageStage.open({
      handlers: {
        fail: () => {
          if (!isMended) throw new Error('no such account');
        },
      },
    });
    page = await stage.signedIn('ada', [{ namespace: '*', role: 'admin' }], '/dead');
  });
  afterEach(() => stage.expectNothingWrong());
  afterAll(() => stage.close());

  const row = (name: string, on = page) => on.getByRole('row', { name: new RegExp(name) });
  const fail = (name: string, namespace = 'default') =>
    stage.admin.jobs.create({ name, namespace, handler: 'fail', max_retries: 0 });
  const lettersOf = (count: number) =>
    eventually(
      async () => {
        expect(await stage.admin.deadLetters.list({ handled: false }).toArray()).toHaveLength(count);
      },
      { withinMs: 60_000 },
    );

  test('are none at first', async () => {
    await page.getByRole('heading', { name: 'No dead letters' }).waitFor();
    await expectAccessibleInBothSchemes(page);
  });

  test('appear without a reload, with their error, and lead to the run', async () => {
    await stage.admin.namespaces.create({ name: 'other' });
    await fail('charge');
    await fail('kept apart', 'other');
    await row('charge').getByText('no such account').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.setViewportSize({ width: 390, height: 844 });
    const table = page.getByRole('table', { name: 'Dead letters' });
    await eventually(
      async () => {
        expect(await table.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
      },
      { withinMs: 60_000 },
    );
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Why it failed' }).waitFor();
    await page.goBack();
  });

  test('are not for viewers to redrive, and those of other namespaces not to be seen', async () => {
    const viewer = await stage.signedIn('vic', [{ namespace: 'default', role: 'viewer' }], '/dead');
    await row('charge', viewer).waitFor();
    expect(await viewer.getByText('kept apart').count()).toBe(0);
    const all = viewer.getByRole('button', { name: 'Redrive all that match' });
    expect(await all.getAttribute('aria-disabled')).toBe('true');
    await viewer.getByRole('button', { name: 'Redrive', exact: true }).hover();
    await viewer.getByRole('tooltip').getByText('Needs the role operator').waitFor();
    const seen = await viewer.evaluate(async () => (await fetch('/api/dead-letters?limit=100')).text());
    expect(seen).not.toContain('kept apart');
    await viewer.context().close();
  });

  test('are sent round again as they were ticked', async () => {
    for (const name of ['ticked one', 'ticked two', 'left alone']) await fail(name);
    await lettersOf(5);
    await page.goto('/dead');
    for (const name of ['ticked one', 'ticked two']) await row(name).getByRole('checkbox').check();
    const bar = page.getByLabel('Selected dead letters');
    await bar.getByText('2 selected').waitFor();
    await bar.getByRole('button', { name: 'Redrive' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redrive 2 dead letters' });
    const named = dialog.getByRole('list', { name: 'The first of them' }).getByRole('listitem');
    await named.nth(1).waitFor();
    expect((await named.allTextContents()).sort()).toEqual(['ticked one', 'ticked two']);
    await expectAccessibleInBothSchemes(page);
    isMended = true;
    await dialog.getByRole('button', { name: 'Redrive 2' }).click();
    await page.getByText('2 redriven.', { exact: true }).waitFor();
    await bar.waitFor({ state: 'detached' });
    await lettersOf(3);
    expect(await row('left alone').count()).toBe(1);
    const letters = await stage.admin.deadLetters.list({ handled: false }).toArray();
    await stage.admin.deadLetters.redrive(
      letters.find(({ job_name: name }) => name === 'left alone')!.run_id,
    );
    await lettersOf(2);
    await eventually(
      async () => {
        expect(await stage.admin.runs.list({ status: 'success' }).toArray()).toHaveLength(3);
      },
      { withinMs: 60_000 },
    );
    isMended = false;
  });

  test('are sent round again, one and then all', async () => {
    for (const name of ['first', 'second']) await fail(name);
    await lettersOf(4);
    isMended = true;
    await page.goto('/dead');
    // The topmost: all others would move up.
    const jobs = page.getByRole('row').getByRole('link');
    await jobs.nth(3).waitFor();
    const [top = '', ...rest] = await jobs.allTextContents();
    const others = rest.map((name) => row(name));
    const heights = () => Promise.all(others.map(async (other) => (await other.boundingBox())!.y));
    const before = await heights();
    await row(top).getByRole('button', { name: 'Redrive' }).dblclick();
    await page.getByText(`${top} was redriven.`).waitFor();
    const { redriven_run_id: next } = (await stage.admin.deadLetters.list({ handled: true }).toArray()).find(
      ({ job_name: name }) => name === top,
    )!;
    expect(await page.getByRole('link', { name: 'Open the run' }).getAttribute('href')).toBe(`/runs/${next}`);
    await lettersOf(3);
    // No other letter moves under the pointer, and a click where it was does nothing.
    const redriven = row(top).getByRole('button', { name: 'Redriven' });
    expect(await redriven.getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('navigation').getByLabel('3 open').waitFor();
    await page.mouse.down();
    await page.mouse.up();
    expect(await heights()).toEqual(before);
    expect(await stage.admin.deadLetters.list({ handled: false }).toArray()).toHaveLength(3);
    expect(new URL(page.url()).pathname).toBe('/dead');
    await page.mouse.move(640, 20);
    await row(top).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Redrive all that match' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redrive 3 dead letters' });
    const named = dialog.getByRole('list', { name: 'The first of them' }).getByRole('listitem');
    await named.nth(2).waitFor();
    expect((await named.allTextContents()).sort()).toEqual(rest.sort());
    await expectAccessibleInBothSchemes(page);
    await dialog.getByRole('button', { name: 'Redrive 3' }).click();
    await page.getByText('3 redriven.', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'No dead letters' }).waitFor();
    await page.getByText('Handled', { exact: true }).click();
    await row('charge').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await expectFits(page);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('beyond a hundred are redriven after their number was typed, and those that follow the count are not', async () => {
    isMended = false;
    const items = Array.from({ length: 101 }, (_, i) => ({
      name: `herd ${i}`,
      handler: 'fail',
      max_retries: 0,
    }));
    await stage.admin.jobs.createMany(items);
    await lettersOf(101);
    await page.goto('/dead');
    await page.getByRole('button', { name: 'Redrive all that match' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redrive 101 dead letters' });
    const go = dialog.getByRole('button', { name: 'Redrive 101' });
    await go.waitFor();
    expect(await go.isDisabled()).toBe(true);
    await fail('too late');
    await lettersOf(102);
    isMended = true;
    await dialog.getByLabel('Type 101 to confirm').fill('101');
    await go.click();
    await page.getByText('101 redriven.', { exact: true }).waitFor();
    await lettersOf(1);
    await row('too late').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('tape');
    await page.getByRole('heading', { name: 'No dead letter matches' }).waitFor();
    await page.getByRole('textbox', { name: 'Part of the error' }).fill('SUCH account');
    await page.waitForURL(/error=SUCH/);
    await row('too late').waitFor();
    const [letter] = await stage.admin.deadLetters.list({ handled: false }).toArray();
    await stage.admin.deadLetters.redrive(letter!.run_id);
    await lettersOf(0);
  });

  test('of one job say so in a filter that can be dropped, also where it has none', async () => {
    isMended = false;
    await fail('of another');
    await lettersOf(1);
    const { job_id: jobId } = await stage.admin.jobs.create({
      ...{ name: 'never failed', handler: 'fail', schedule_time: '2099-01-01T00:00:00Z' },
    });
    await page.goto(`/dead?job=${jobId}`);
    await page.getByRole('heading', { name: 'No dead letters of this job' }).waitFor();
    await page.getByText('Job: never failed').waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.getByRole('button', { name: 'Drop the filter Job: never failed' }).click();
    await row('of another').waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  test('tell that they cannot be read', async () => {
    await page.goto('about:blank');
    const mend = await breakAnswers(page, /\/api\/dead-letters/);
    await page.goto('/dead?handled=true');
    await page.getByRole('alert').getByText('The database does not answer.').waitFor();
    await mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    await row('too late').waitFor();
    stage.forgiveFailedAnswers();
  });
});
